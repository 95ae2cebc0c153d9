// Bun and Deno are installed by: node scripts/with-runtimes.mjs -- npx vitest run test/runtimes.test.ts
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {describe, expect, onTestFinished, test} from 'vitest';
import {createSelfSigned, inspectIdentity} from '../src/transports/node/self-signed-certificate.js';
import {Command, PROGRAM, run} from './helpers/command.js';
import {findProgram, needs} from './helpers/needs.js';
import {scratchDirectory} from './helpers/scratch.js';
import {fileWith} from './helpers/tokens.js';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const RUNTIMES = [
	{name: 'bun', shown: /Bun [\d.]+/, flags: ['run']},
	{name: 'deno', shown: /Deno [\d.]+/, flags: ['run', '-A']},
] as const;

/** Does everything that an environment offers, and prints it. */
const EXERCISE = `
	const outcome = async work => {
		try {
			return await work();
		} catch (error) {
			return error.message;
		}
	};
	const {stdout, stderr, exitCode} = await environment.run(['sh', '-c', 'echo out; echo err >&2; exit 3'], {reject: false});
	const cat = await environment.run(['cat'], {input: 'x'.repeat(2_000_000), maxBytes: 3_000_000});
	const terminal = await outcome(async () => {
		const process = await environment.start(['sh', '-c', 'tty > /dev/null && echo terminal'], {tty: true});
		let text = '';
		for await (const event of process.output()) if (event.kind === 'output') text += new TextDecoder().decode(event.bytes);
		return text;
	});
	const path = process.argv[2] + '/file';
	await environment.files.writeFile(path, new TextEncoder().encode('content'));
	const file = new TextDecoder().decode(await environment.files.readFile(path));
	await environment.close();
	console.log(JSON.stringify({out: stdout.text, err: stderr.text, exitCode, cat: cat.stdout.bytes.length, terminal, file}));
	process.exit(0);
`;
const WHOLE = {out: 'out\n', err: 'err\n', exitCode: 3, cat: 2_000_000, terminal: 'terminal\r\n', file: 'content'};

/** Standard output of a program of this text. */
async function under({name, flags}: (typeof RUNTIMES)[number], text: string): Promise<unknown> {
	const directory = scratchDirectory();
	const path = join(directory, 'program.mjs');
	writeFileSync(join(directory, 'package.json'), '{}');
	mkdirSync(join(directory, 'node_modules'));
	symlinkSync(PACKAGE, join(directory, 'node_modules/longarm'));
	writeFileSync(path, `import {Environment, ExecServer, listen} from 'longarm';\n${text}`);
	const child = spawn(findProgram(name)!, [...flags, path, directory], {stdio: ['ignore', 'pipe', 'pipe']});
	onTestFinished(() => void child.kill('SIGKILL'));
	let errors = '';
	child.stderr.setEncoding('utf8').on('data', (more: string) => {
		errors += more;
	});
	child.stdout.setEncoding('utf8');
	const [line] = (await Promise.race([once(child.stdout, 'data'), once(child, 'close')])) as [string];
	if (typeof line !== 'string') throw new Error(`${name} ended: ${errors}`);
	return JSON.parse(line);
}

describe.each(RUNTIMES)('under $name', runtime => {
	const {name, shown, flags} = runtime;
	const withoutTerminal =
		name === 'bun' ? {terminal: expect.stringMatching('terminals do not work under Bun') as string} : {};

	test('a remote environment works', needs(name), async () => {
		const url = await new Command(['serve']).url();
		const program = `const environment = Environment.remote('x', {kind: 'websocket', url: '${url}'});${EXERCISE}`;
		expect(await under(runtime, program)).toEqual(WHOLE);
	});

	test(
		'a remote environment works over TLS with a pinned certificate, and no other gets the token',
		needs(name),
		async () => {
			const identity = createSelfSigned(['127.0.0.1']);
			const {fingerprint} = inspectIdentity(identity)!;
			const tls = ['--tls-cert', fileWith(identity.cert), '--tls-key', fileWith(identity.key)];
			const auth = ['--ws-auth', 'capability-token', '--ws-token-file', fileWith('right')];
			const url = await new Command(['serve', '--listen', 'wss://127.0.0.1:0', ...tls, ...auth]).url();
			const target = (pin: string): string =>
				`Environment.remote('x', {kind: 'websocket', url: '${url}', token: 'right', tls: {fingerprint: '${pin}'}})`;
			expect(await under(runtime, `const environment = ${target(fingerprint)};${EXERCISE}`)).toEqual(WHOLE);
			const refused = `
			const environment = ${target(`sha256:${'00'.repeat(32)}`)};
			await environment.info().catch(error => console.log(JSON.stringify(error.message)));
			process.exit(0);`;
			expect(await under(runtime, refused)).toContain('the one that is pinned');
		},
	);

	test('the local environment works, as far as is said', needs(name), async () => {
		const result = await under(runtime, `const environment = Environment.local();${EXERCISE}`);
		expect(result).toEqual({...WHOLE, ...withoutTerminal});
	});

	test('a server in the program works, as far as is said', needs(name), async () => {
		const program = `
			const exec = new ExecServer();
			const {url} = await listen({host: '127.0.0.1', port: 0, accept: transport => void exec.accept(transport)});
			console.log(JSON.stringify(url));`;
		const url = (await under(runtime, program)) as string;
		expect(await run(['run', '-e', url, '--', 'echo', 'hi'])).toMatchObject({code: 0, stdout: 'hi\n'});
	});

	test('longarm serve says that it does not run there', needs(name), async () => {
		const child = spawn(findProgram(name)!, [...flags, PROGRAM, 'serve'], {stdio: ['ignore', 'ignore', 'pipe']});
		const errors = (await child.stderr.setEncoding('utf8').toArray()).join('');
		expect(errors).toMatch(new RegExp(`^error: longarm serve does not run under ${shown.source}`));
	});
});
