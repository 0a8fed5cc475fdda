"""One authority for everything in the laboratory, and what it signs."""

import pathlib
import subprocess

DAYS = '30'
CURVE = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes')


def openssl(*words):
    subprocess.run(['openssl', *words], check=True, capture_output=True, timeout=60)


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
