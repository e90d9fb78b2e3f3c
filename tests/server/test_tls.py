"""HTTPS, with a certificate made for the test."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from server.serve import _tls
from server.settings import SettingsError, TlsSettings
from tests.server.processes import serving


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Certificate and key for localhost, the key under the password "word"."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"word"),
        )
    )
    return folder / "cert.pem", folder / "key.pem"


def test_client_that_trusts_the_certificate_is_answered(files: tuple[Path, Path]) -> None:
    certificate, key = map(str, files)
    with serving(
        None,
        "--tls-certfile",
        certificate,
        "--tls-keyfile",
        key,
        environment={"STRICTSERVE_TLS_KEYFILE_PASSWORD": "word"},
    ) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        trusting = ssl.create_default_context(cafile=certificate)

        assert url.startswith("https://")
        assert httpx.get(f"{url}/health", verify=trusting).json() == {"status": "ok"}
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/health")
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(url.replace("https", "http") + "/health")


def test_client_without_certificate_is_refused_where_one_is_wanted(files: tuple[Path, Path]) -> None:
    certificate, key = map(str, files)
    settings = TlsSettings(certfile=certificate, keyfile=key, keyfile_password="word", ca_certs=certificate)

    context = _tls(settings)

    assert context is not None
    assert context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize("password", [None, "other"])
def test_wrong_password_is_told_not_asked(files: tuple[Path, Path], password: str | None) -> None:
    certificate, key = map(str, files)
    with pytest.raises(SettingsError, match=r"tls: .*key\.pem"):
        _tls(TlsSettings(certfile=certificate, keyfile=key, keyfile_password=password))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nothing\.pem"):
        _tls(TlsSettings(certfile=str(tmp_path / "nothing.pem")))


def test_key_without_certificate_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"tls\.certfile"):
        _tls(TlsSettings(keyfile="key.pem"))
