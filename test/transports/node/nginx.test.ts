import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {chmodSync, existsSync, mkdirSync, writeFileSync} from 'node:fs';
import {type AddressInfo, createServer} from 'node:net';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import {createSelfSigned, inspectIdentity} from '../../../src/transports/node/self-signed-certificate.js';
import {Command, run} from '../../helpers/command.js';
import {isRoot, needs, optionalProgram} from '../../helpers/needs.js';
import {eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {TestClient} from '../../helpers/test-client.js';
import {fileWith} from '../../helpers/tokens.js';

const TOKEN = 'right';
const WITH_TOKENS = ['--ws-auth', 'capability-token', '--ws-token-file'];

async function freePort(): Promise<number> {
	const server = createServer().listen(0, '127.0.0.1');
	await once(server, 'listening');
	const {port} = server.address() as AddressInfo;
	server.close();
	await once(server, 'close');
	return port;
}

/** A real nginx in front of the server at `url`, below a prefix; ended with the test. */
async function proxied(url: string) {
	const [port, securePort] = [await freePort(), await freePort()];
	const directory = scratchDirectory();
	// Workers of root's nginx are another user.
	if (isRoot) chmodSync(directory, 0o755);
	for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(directory, name));
	const identity = createSelfSigned(['127.0.0.1']);
	writeFileSync(join(directory, 'cert.pem'), identity.cert);
	writeFileSync(join(directory, 'key.pem'), identity.key, {mode: 0o600});
	const config = `
		daemon off;
		pid ${directory}/pid;
		error_log stderr warn;
		events {}
		http {
			access_log off;
			client_body_temp_path ${directory}/body;
			proxy_temp_path ${directory}/proxy;
			fastcgi_temp_path ${directory}/fastcgi;
			uwsgi_temp_path ${directory}/uwsgi;
			scgi_temp_path ${directory}/scgi;
			server {
				listen 127.0.0.1:${port};
				listen 127.0.0.1:${securePort} ssl;
				ssl_certificate ${directory}/cert.pem;
				ssl_certificate_key ${directory}/key.pem;
				location /tools/exec/ {
					proxy_pass ${url.replace('ws:', 'http:')}/;
					proxy_http_version 1.1;
					proxy_set_header Upgrade $http_upgrade;
					proxy_set_header Connection "upgrade";
					proxy_set_header Host exec.example;
				}
			}
		}`;
	const path = join(directory, 'nginx.conf');
	writeFileSync(path, config);
	const nginx = spawn(optionalProgram('nginx'), ['-c', path, '-p', directory, '-e', 'stderr'], {
		stdio: ['ignore', 'ignore', 'pipe'],
	});
	let errors = '';
	nginx.stderr.setEncoding('utf8').on('data', (text: string) => {
		errors += text;
	});
	onTestFinished(async () => {
		nginx.kill('SIGTERM');
		if (nginx.exitCode === null) await once(nginx, 'exit');
	});
	// Written once it listens.
	await eventually(() => nginx.exitCode !== null || existsSync(join(directory, 'pid')));
	if (nginx.exitCode !== null) throw new Error(`nginx ended: ${errors}`);
	return {
		url: `ws://127.0.0.1:${port}/tools/exec/`,
		secureUrl: `wss://127.0.0.1:${securePort}/tools/exec/`,
		fingerprint: inspectIdentity(identity)!.fingerprint,
	};
}

describe('behind nginx, below a path', needs('nginx'), () => {
	test('client, files and pages work by the URL with the path, over TLS as well', async () => {
		const server = new Command(['serve', ...WITH_TOKENS, fileWith(TOKEN), '--allow-host', 'exec.example']);
		const {url, secureUrl, fingerprint} = await proxied(await server.url());
		const env = {LONGARM_EXEC_SERVER_TOKEN: TOKEN};
		const pinned = ['-e', secureUrl, '--tls-fingerprint', fingerprint];
		expect(await run(['run', '-e', url, '--', 'echo', 'hi'], env)).toMatchObject({code: 0, stdout: 'hi\n', stderr: ''});
		expect(await run(['run', ...pinned, '--', 'echo', 'hi'], env)).toMatchObject({code: 0, stdout: 'hi\n', stderr: ''});
		const file = fileWith('content');
		expect(await run(['cat', `${url}:${file}`], env)).toMatchObject({code: 0, stdout: 'content'});
		const ready = await fetch(`${url.replace('ws:', 'http:')}readyz`);
		expect(ready.status).toBe(200);
		await expect(connectWebSocket(url)).rejects.toThrow('401');
	});

	test('the name nginx calls the server by has to be allowed', async () => {
		const server = new Command(['serve', ...WITH_TOKENS, fileWith(TOKEN)]);
		const {url} = await proxied(await server.url());
		await expect(connectWebSocket(url, {token: TOKEN})).rejects.toThrow('421');
	});

	test('output of many megabytes arrives whole', async () => {
		const server = new Command(['serve', ...WITH_TOKENS, fileWith(TOKEN), '--allow-host', 'exec.example']);
		const {url} = await proxied(await server.url());
		const client = await new TestClient(await connectWebSocket(url, {token: TOKEN})).initialize();
		await client.sh('p', 'head -c 20000000 /dev/zero');
		expect((await client.done('p')).stdout.length).toBe(20_000_000);
	});
});
