import {execFileSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {optionalProgram} from './needs.js';
import {scratchDirectory} from './scratch.js';

export interface Certificate {
	readonly certPath: string;
	readonly keyPath: string;
	readonly cert: string;
	readonly key: string;
}

/** An authority of a test, which nobody else trusts. */
export class Authority {
	readonly #directory = scratchDirectory();
	readonly #own: Certificate;
	#count = 0;

	constructor(name = 'longarm test authority') {
		const [cert, key] = [join(this.#directory, 'ca.pem'), join(this.#directory, 'ca.key')];
		openssl('req', '-x509', ...newKey(key), '-out', cert, '-days', '2', '-subj', `/CN=${name}`);
		this.#own = read(cert, key);
	}

	/** The root certificate, for the trust store of clients. */
	get ca(): string {
		return this.#own.cert;
	}

	/** For 127.0.0.1, `::1` and localhost. */
	issue(name = 'localhost'): Certificate {
		const path = join(this.#directory, `${++this.#count}`);
		const [cert, key, asked, names] = [`${path}.pem`, `${path}.key`, `${path}.csr`, `${path}.ext`];
		writeFileSync(names, 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n');
		openssl('req', ...newKey(key), '-out', asked, '-subj', `/CN=${name}`);
		const issuer = ['-CA', this.#own.certPath, '-CAkey', this.#own.keyPath, '-set_serial', String(this.#count + 1)];
		openssl('x509', '-req', '-in', asked, ...issuer, '-out', cert, '-days', '2', '-extfile', names);
		return read(cert, key);
	}
}

const newKey = (path: string): string[] => [
	'-newkey',
	'ec',
	'-pkeyopt',
	'ec_paramgen_curve:prime256v1',
	'-nodes',
	'-keyout',
	path,
];

function openssl(...args: string[]): void {
	execFileSync(optionalProgram('openssl'), args, {stdio: 'pipe'});
}

function read(certPath: string, keyPath: string): Certificate {
	return {certPath, keyPath, cert: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8')};
}
