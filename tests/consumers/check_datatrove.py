"""datatrove's readers and its writer, against our files."""

import tempfile
from pathlib import Path

import numpy as np
from datatrove.pipeline.tokens.tokenizer import TokenizedFile
from datatrove.utils.dataset import DatatroveFileDataset, DatatroveFolderDataset
from expected import data_sets, done, generations

LENGTH = 63


def written(ids: list[list[int]], size: int, name: str) -> dict[str, bytes]:
    """What datatrove itself makes of these documents."""
    with tempfile.TemporaryDirectory() as folder:
        file = TokenizedFile(
            folder, "x.ds", save_index=True, tokenizer_name_or_path=name, save_final_metadata=True, token_size=size
        )
        for document in ids:
            file.write(document, None)
        file.close()
        return {path.name.removeprefix("x.ds"): path.read_bytes() for path in Path(folder).iterdir()}


windows = positions = equal = 0
for expected in data_sets():
    size = 4 if expected.wide else 2
    for split in ("train", "val"):
        folder = expected.output / "datatrove" / split
        found = generations(list(folder.glob("*.ds")), expected)
        stream = []
        for files in found:
            for path, documents in zip(files, expected.parts(files, split), strict=True):
                name = Path(f"{path}.metadata").read_text().split("|")[0]
                for suffix, data in written(documents, size, name).items():
                    assert Path(f"{path}{suffix}").read_bytes() == data, (path, suffix)
                    equal += 1
                ids = np.concatenate([np.array(document) for document in documents])
                ends = set(np.cumsum([len(document) for document in documents]).tolist())
                data = DatatroveFileDataset(str(path), LENGTH, token_size=size, return_positions=True)
                assert len(data) == len(ids) // (LENGTH + 1)
                for number in {*range(20), len(data) - 1} & {*range(len(data))}:  # it reads the index anew each time
                    item = data[number]
                    start = number * (LENGTH + 1)
                    assert item["input_ids"].tolist() == ids[start : start + LENGTH + 1].tolist()
                    place, wanted = 0, []
                    for at in range(start, start + LENGTH + 1):
                        place = 0 if at in ends or at == start else place + 1
                        wanted.append(place)
                    assert item["positions"].tolist() == wanted, (path, number)
                    positions += 1
                stream.append((path.name, ids))
        whole = DatatroveFolderDataset(str(folder), LENGTH, token_size=size)
        ordered = [ids for _, ids in sorted(stream)]
        wanted = [ids[at : at + LENGTH + 1] for ids in ordered for at in range(0, len(ids) - LENGTH, LENGTH + 1)]
        assert len(whole) == len(wanted)
        for item, ids in zip(whole, wanted, strict=True):
            assert item["input_ids"].tolist() == ids.tolist()
            windows += 1
done("datatrove", windows=windows, windows_with_positions=positions, files_equal_to_its_own=equal)
