import hashlib

from object_store import Bucket

from gristmill import s3


def test_x(any_bucket: Bucket):
    u = any_bucket.uri + "/a/b"
    d = b"x" * 1000000
    print(s3.stat(u))
    print(s3.put_new(d, u, hashlib.sha256(d).hexdigest()))
    print(s3.put_new(d, u, hashlib.sha256(d).hexdigest()))
    assert s3.read(u) == d
    print(s3.names(any_bucket.uri), s3.names(any_bucket.uri + "/a"))
    print(any_bucket.client.head_object(Bucket=any_bucket.name, Key="a/b", ChecksumMode="ENABLED"))
    print(s3.uploads(any_bucket.uri))
    s3.remove(u)
    s3.remove(u)
