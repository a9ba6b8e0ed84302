"""Files on a disk or in an object store, and who may change them."""
