"""The tokenizer, the order of the documents, and their ids."""
