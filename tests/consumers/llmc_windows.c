/* What llm.c's loader gives for files of a pattern, as raw int32: B * T inputs, then B * T targets, batch after batch. */
#include "llmc/dataloader.h"

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: %s PATTERN B T RANK RANKS BATCHES\n", argv[0]);
        return 2;
    }
    size_t ids = (size_t)atoi(argv[2]) * (size_t)atoi(argv[3]);
    DataLoader loader = {0};
    dataloader_init(&loader, argv[1], (size_t)atoi(argv[2]), (size_t)atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), 0);
    for (int batch = 0; batch < atoi(argv[6]); batch++) {
        dataloader_next_batch(&loader);
        fwrite(loader.inputs, sizeof(int), ids, stdout);
        fwrite(loader.targets, sizeof(int), ids, stdout);
    }
    dataloader_free(&loader);
    return 0;
}
