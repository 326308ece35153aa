"""Object stores and web servers: the same dataset as from a local file, and no credentials in any message."""

from __future__ import annotations

import base64
import gzip
import http.server
import threading
import urllib.request

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers import SECRET_KEY, free_port

from standout.data.dataset import Dataset
from standout.data.reading.remote import without_secrets
from standout.errors import InputError, ParameterError

ROWS = [(u, i, (u * 7 + i * 3) % 10 + 1) for u in range(1, 9) for i in range(1, 7) if (u + i) % 3]


def table(rows=ROWS, **more):
    user, item, rating = zip(*rows, strict=True)
    return pa.table({"user": user, "item": item, "rating": rating, **more})


def expected():
    return Dataset.from_arrays(*zip(*ROWS, strict=True)).fingerprint


@pytest.fixture(scope="module")
def bucket(object_store):
    """Function that makes the address of a path in a bucket."""
    from pyarrow import fs

    host = object_store.removeprefix("http://")
    system = fs.S3FileSystem(
        access_key="key",
        secret_key=SECRET_KEY,
        endpoint_override=host,
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    system.create_dir("shop")
    pq.write_table(table(), "shop/one.parquet", filesystem=system)
    pq.write_table(table(ROWS[:9]), "shop/parts/a.parquet", filesystem=system)
    pq.write_table(table(ROWS[9:]), "shop/parts/deep/b.parquet", filesystem=system)
    text = "user,item,rating\n" + "".join(f"{u},{i},{v}\n" for u, i, v in ROWS)
    other = table().rename_columns(["user", "item", "stars"])
    pq.write_table(other, "shop/mixed/b.parquet", filesystem=system)
    pq.write_table(table(), "shop/mixed/a.parquet", filesystem=system)
    contents = {
        "parts/_SUCCESS": b"",
        "text/ratings.csv.gz": gzip.compress(text.encode()),
        "lake/_delta_log/0.json": b"{}",
        "lake/a.parquet": b"PAR1",
        "bad.parquet": b"PAR1 this is no Parquet file PAR1",
    }
    for key, content in contents.items():
        with system.open_output_stream(f"shop/{key}", compression=None) as to:
            to.write(content)
    return lambda path: (
        f"s3://key:{SECRET_KEY}@shop/{path}?scheme=http&endpoint_override={host}&region=us-east-1"
    )


@pytest.mark.parametrize(
    "path", ["one.parquet", "parts", "parts/", "parts/*.parquet", "text/ratings.csv.gz", "text"]
)
def test_a_file_a_prefix_and_a_pattern_of_an_object_store_are_read(bucket, path):
    assert Dataset.read(bucket(path)).fingerprint == expected()


def test_the_environment_may_hold_the_credentials(bucket, object_store, monkeypatch):
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": object_store,
    }.items():
        monkeypatch.setenv(name, value)
    assert Dataset.read("s3a://shop/one.parquet").fingerprint == expected()


def test_failures_are_one_sentence_without_credentials(bucket):
    host = bucket("").partition("endpoint_override=")[2].partition("&")[0]
    cases = {
        bucket("nowhere.parquet"): "there is no such file",
        bucket("one.parquet").replace("@shop", "@nobucket"): "there is no such",
        bucket("one.parquet").replace(host, f"127.0.0.1:{free_port()}"): "cannot be reached",
        bucket("mixed"): "several tables with different columns",
        bucket("lake"): "is a Delta table",
        bucket("bad.parquet"): "is not a Parquet file that can be read",
        bucket("one.parquet") + "&nonsense=1": "malformed",
    }
    for url, message in cases.items():
        with pytest.raises(InputError) as caught:
            Dataset.read(url)
        text = str(caught.value)
        assert message in text
        assert "\n" not in text and SECRET_KEY not in text and host not in text
    with pytest.raises(ParameterError, match="leave out table"):
        Dataset.read(bucket("one.parquet"), table="x")


class Web(http.server.BaseHTTPRequestHandler):
    """Serves one file to one user; `/cut` breaks off, `/other` sends to another server."""

    content = b""
    seen: list[str | None] = []  # noqa: RUF012
    elsewhere = ""

    def do_GET(self):
        given = self.headers.get("Authorization")
        type(self).seen.append(given)
        wanted = "Basic " + base64.b64encode(f"annie:{SECRET_KEY}".encode()).decode()
        if self.path.startswith("/other"):
            self.send_response(302)
            self.send_header("Location", self.elsewhere)
        elif given != wanted and not self.path.startswith("/open"):
            self.send_response(401)
        elif self.path.startswith("/none"):
            self.send_response(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        if not self.path.startswith("/other"):
            self.wfile.write(self.content[:100] if self.path.startswith("/cut") else self.content)

    def log_message(self, *args):
        pass


@pytest.fixture
def web(tmp_path):
    pq.write_table(table(), tmp_path / "x.parquet")
    Web.content, Web.seen = (tmp_path / "x.parquet").read_bytes(), []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://annie:{SECRET_KEY}@127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_file_of_a_web_server_is_read(web):
    assert (
        Dataset.read(f"{web}/a%20folder/ratings%20(1).parquet?signature={SECRET_KEY}").fingerprint
        == expected()
    )


def test_failures_of_a_web_server_are_one_sentence_without_credentials(web):
    cases = {
        f"{web}/cut.parquet": "100 of",
        f"{web}/none/x.csv": "status 404 (no such file)",
        f"{web.replace('annie', 'bob')}/x.csv": "status 401",
        f"http://annie:{SECRET_KEY}@127.0.0.1:{free_port()}/x.csv": "cannot be reached",
        f"http://annie:{SECRET_KEY}@127.0.0.1:99999999/x.csv": "cannot be reached",
        f"http://annie:{SECRET_KEY}@[::1/x.csv": "malformed",
    }
    for url, message in cases.items():
        with pytest.raises(InputError) as caught:
            Dataset.read(url)
        text = str(caught.value)
        assert message in text, text
        assert "\n" not in text and SECRET_KEY not in text and "annie" not in text


def test_a_redirect_does_not_pass_the_password_on(web):
    Web.elsewhere = web.replace(f"annie:{SECRET_KEY}@", "") + "/open.parquet"
    assert Dataset.read(f"{web}/other").fingerprint == expected()
    assert [given is not None for given in Web.seen] == [True, False]


def test_no_network_is_used_for_a_local_file(tmp_path, monkeypatch):
    def refuse(*args, **more):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    pq.write_table(table(), tmp_path / "x.parquet")
    assert Dataset.read(tmp_path / "x.parquet").fingerprint == expected()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_deleted_rows_of_a_lake_table_are_not_read_as_if_they_were_there(tmp_path, kind):
    pq.write_table(table(), tmp_path / "a.parquet")
    log = tmp_path / ("_delta_log" if kind == "delta" else "metadata")
    log.mkdir()
    (log / "v1.metadata.json").write_text("{}")
    with pytest.raises(
        InputError, match=f"INSTALL {kind}|is not {kind.capitalize()} data that can be read"
    ):
        Dataset.read(tmp_path)


def test_addresses_lose_their_credentials_wherever_they_are_in_a_text():
    text = without_secrets(
        f"a s3://k:{SECRET_KEY}@b/c?d={SECRET_KEY} and --x=https://u:{SECRET_KEY}@h:1/p/q.csv#z"
    )
    assert text == "a s3://…/c and --x=https://…/q.csv"


def test_labels_of_object_stores_are_kept_exactly(bucket, object_store):
    from pyarrow import fs

    host = object_store.removeprefix("http://")
    system = fs.S3FileSystem(
        access_key="key",
        secret_key=SECRET_KEY,
        endpoint_override=host,
        scheme="http",
        region="us-east-1",
    )
    made = pa.table(
        {"user": pa.array(["b", "a"]).dictionary_encode(), "item": np.array([2**40, 7])}
    )
    pq.write_table(made, "shop/labels.parquet", filesystem=system)
    ds = Dataset.read(bucket("labels.parquet"))
    assert (ds.record_labels.tolist(), ds.item_labels.tolist()) == (["a", "b"], [7, 2**40])
