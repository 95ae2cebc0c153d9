// A module of its own: the server needs the path without the code that makes certificates.
import {join} from 'node:path';
import {homeOf} from '../../../environments/config/config-home.js';

/** File of the certificate that `--tls-self-signed` makes, and of its key. */
export function selfSignedPath(variables: Readonly<Record<string, string | undefined>>): string {
	return join(homeOf(variables), 'self-signed.pem');
}
