"""The files to publish: laid out, packed, uploaded and counted again."""
