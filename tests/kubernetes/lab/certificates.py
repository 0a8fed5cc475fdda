"""One authority for everything in the laboratory, and what it signs."""

import pathlib
import secrets
import subprocess
import tempfile

DAYS = '30'
CURVE = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes')

REDATE = '''[ca]
default_ca = own
[own]
database = {folder}/index
serial = {folder}/serial
new_certs_dir = {folder}
default_md = sha256
policy = anything
[anything]
commonName = optional
organizationName = optional
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
'''


def openssl(*words):
    subprocess.run(['openssl', *words], check=True, capture_output=True, timeout=60)


def redated(folder, crt, key, begins, ends):
    """The certificate of an authority (PEM) with another span (datetimes in UTC): same name, same key, so what it has
    signed stays good."""
    folder = pathlib.Path(folder)
    folder.mkdir(mode=0o700)
    for name, text in (('ca.crt', crt), ('ca.key', key), ('index', ''), ('serial', secrets.token_hex(8)),
                       ('conf', REDATE.format(folder=folder))):
        (folder / name).write_text(text, encoding='ascii')
    openssl('x509', '-x509toreq', '-in', str(folder / 'ca.crt'), '-signkey', str(folder / 'ca.key'),
            '-out', str(folder / 'csr'))
    openssl('ca', '-batch', '-notext', '-preserveDN', '-selfsign', '-config', str(folder / 'conf'),
            '-keyfile', str(folder / 'ca.key'), '-in', str(folder / 'csr'), '-out', str(folder / 'new'),
            '-extensions', 'authority',
            *(word for option, at in (('-startdate', begins), ('-enddate', ends))
              for word in (option, at.strftime('%Y%m%d%H%M%SZ'))))
    return (folder / 'new').read_text(encoding='ascii')


def signed_by(certificate, authority):
    """Whether an authority (both PEM) has signed it. Its span does not matter."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (('crt', certificate), ('ca', authority)):
            pathlib.Path(folder, name).write_bytes(text)
        done = subprocess.run(['openssl', 'verify', '-no_check_time', '-CAfile', f'{folder}/ca', f'{folder}/crt'],
                              capture_output=True, timeout=60, check=False)
    return done.returncode == 0


class Authority:
    """Keys and certificates in `folder`: NAME.key and NAME.crt for each, the authority's own as ca."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(mode=0o700)
        openssl('req', '-x509', *CURVE, '-keyout', self.key('ca'), '-out', self.crt('ca'),
                '-subj', '/CN=sluice-lab', '-days', DAYS)

    def key(self, name):
        return str(self.folder / f'{name}.key')

    def crt(self, name):
        return str(self.folder / f'{name}.crt')

    def issue(self, name, subject, *names):
        """A key and a certificate for `names` such as IP:127.0.0.1 or DNS:localhost; (crt, key)."""
        request = str(self.folder / f'{name}.csr')
        extensions = self.folder / f'{name}.ext'
        extensions.write_text(f'subjectAltName={",".join(names)}\n' if names else '', encoding='ascii')
        openssl('req', '-new', *CURVE, '-keyout', self.key(name), '-out', request, '-subj', subject)
        openssl('x509', '-req', '-in', request, '-CA', self.crt('ca'), '-CAkey', self.key('ca'),
                '-CAcreateserial', '-out', self.crt(name), '-days', DAYS, '-extfile', str(extensions))
        return self.crt(name), self.key(name)

    def token_keys(self):
        """The pair that service account tokens are signed and verified with: (private, public)."""
        public = str(self.folder / 'sa.pub')
        openssl('ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out', self.key('sa'))
        openssl('ec', '-in', self.key('sa'), '-pubout', '-out', public)
        return self.key('sa'), public
