import {copyFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {connect, type PeerCertificate} from 'node:tls';
import {describe, expect, test} from 'vitest';
import {connectWebSocket} from '../../src/transports/node/connect-web-socket.js';
import {Authority, type Certificate} from '../helpers/certificates.js';
import {Command, run} from '../helpers/command.js';
import {needs} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TestClient} from '../helpers/test-client.js';
import {fileWith} from '../helpers/tokens.js';

const SEE_SETTINGS = 'hint: See longarm serve --help for every setting, its unit and its default.\n';
const SECURE = ['serve', '--listen', 'wss://127.0.0.1:0'];

/** Files whose content a test replaces. */
function placed(certificate: Certificate): {cert: string; key: string; put(next: Certificate): void} {
	const directory = scratchDirectory();
	const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
	const put = ({certPath, keyPath}: Certificate): void => {
		copyFileSync(certPath, cert);
		copyFileSync(keyPath, key);
	};
	put(certificate);
	return {cert, key, put};
}

function shownBy(url: string, ca: string): Promise<PeerCertificate> {
	const {hostname, port} = new URL(url);
	return new Promise((resolve, reject) => {
		const socket = connect({host: hostname, port: Number(port), ca}, () => {
			resolve(socket.getPeerCertificate());
			socket.destroy();
		});
		socket.once('error', reject);
	});
}

describe('over TLS', needs('openssl'), () => {
	test.each<[string[], string]>([
		[SECURE, '--listen wss://IP:PORT needs --tls-cert and --tls-key, or --tls-self-signed'],
		[[...SECURE, '--tls-cert', '/c'], '--listen wss://IP:PORT needs --tls-cert and --tls-key, or --tls-self-signed'],
		[[...SECURE, '--tls-key', '/k'], '--listen wss://IP:PORT needs --tls-cert and --tls-key, or --tls-self-signed'],
		[['serve', '--tls-cert', '/c', '--tls-key', '/k'], '--tls-cert and --tls-key are for --listen wss://IP:PORT only'],
		[['serve', '--listen', 'stdio', '--tls-key', '/k'], '--tls-cert and --tls-key are for --listen wss://IP:PORT only'],
	])('%j is misused', async (args, message) => {
		expect(await run(args)).toEqual({code: 2, signal: null, stdout: '', stderr: `error: ${message}\n${SEE_SETTINGS}`});
	});

	test('TLS alone does not open the network', async () => {
		const {certPath, keyPath} = new Authority().issue();
		const args = ['serve', '--listen', 'wss://0.0.0.0:0', '--tls-cert', certPath, '--tls-key', keyPath];
		const {code, stderr} = await run(args);
		expect(code).toBe(2);
		expect(stderr).toContain('error: refusing to listen on 0.0.0.0: without authentication');
	});

	test('a certificate that cannot be used is a failure', async () => {
		const {certPath, keyPath} = new Authority().issue();
		const missing = await run([...SECURE, '--tls-cert', '/no/such', '--tls-key', keyPath]);
		expect([missing.code, missing.stderr]).toEqual([
			1,
			expect.stringMatching(/^error: cannot read \/no\/such: ENOENT/),
		]);
		const broken = await run([...SECURE, '--tls-cert', certPath, '--tls-key', fileWith('nonsense')]);
		expect(broken.code).toBe(1);
		expect(broken.stderr).toMatch(/^error: the certificate and its key cannot be used: .*\nhint: .*\n$/);
	});

	test('it serves wss to who trusts it and has the token, and reloads the certificate on SIGHUP', async () => {
		const authority = new Authority();
		const files = placed(authority.issue('before'));
		const auth = ['--ws-auth', 'capability-token', '--ws-token-file', fileWith('right')];
		const command = new Command([...SECURE, '--tls-cert', files.cert, '--tls-key', files.key, ...auth]);
		const url = await command.url();
		expect(url).toMatch(/^wss:\/\/127\.0\.0\.1:\d+$/);
		const tls = {ca: authority.ca};
		const client = await new TestClient(await connectWebSocket(url, {tls, token: 'right'})).initialize();
		await client.sh('p', 'read line; echo "$line"', {pipeStdin: true});
		await expect(connectWebSocket(url, {token: 'right'})).rejects.toThrow(/certificate/);
		await expect(connectWebSocket(url, {tls, token: 'wrong'})).rejects.toThrow('401');
		expect((await shownBy(url, authority.ca)).subject.CN).toBe('before');

		files.put(authority.issue('after'));
		command.child.kill('SIGHUP');
		await command.logs('"what":"certificate"');
		expect((await shownBy(url, authority.ca)).subject.CN).toBe('after');

		writeFileSync(files.cert, 'nonsense');
		command.child.kill('SIGHUP');
		await command.logs('cannot reload, the old one stays');
		expect((await shownBy(url, authority.ca)).subject.CN).toBe('after');

		await client.write('p', 'same connection\n', 'w');
		expect((await client.done('p')).stdout).toBe('same connection\n');
		expect(command.stderr).not.toContain('PRIVATE KEY');
		command.child.kill('SIGTERM');
		expect(await command.ended).toEqual({code: 0, signal: null});
	});
});
