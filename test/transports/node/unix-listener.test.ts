import {
	chmodSync,
	chownSync,
	existsSync,
	lchownSync,
	mkdirSync,
	renameSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {connect, createServer} from 'node:net';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {connectUnixSocket} from '../../../src/transports/node/connect-web-socket.js';
import type {Listener} from '../../../src/transports/node/listener.js';
import type {ListenerOptions} from '../../../src/transports/node/listener-options.js';
import {listenOnUnixSocket} from '../../../src/transports/node/unix-listener.js';
import {needsRoot, runAsNobody} from '../../helpers/needs.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const STRANGER = 65_534;

async function listening(path: string, options: Partial<ListenerOptions> = {}): Promise<Listener> {
	const listener = await listenOnUnixSocket({path, accept: transport => void RawPeer.open(transport), ...options});
	onTestFinished(() => listener.close());
	return listener;
}

function modeOf(path: string): string {
	return (statSync(path).mode & 0o7777).toString(8);
}

/** A socket whose server is gone. */
async function staleSocket(path: string): Promise<void> {
	const server = createServer();
	await new Promise<void>(resolve => server.listen(`${path}.first`, resolve));
	// The runtime removes a socket by the name it was made under.
	renameSync(`${path}.first`, path);
	await new Promise(resolve => server.close(resolve));
	expect(existsSync(path)).toBe(true);
}

test('only its user can open the socket, in a directory that is made for it, and it goes with the listener', async () => {
	const path = join(scratchDirectory(), 'made', 'for it', 'x.sock');
	const umask = process.umask(0);
	onTestFinished(() => void process.umask(umask));
	const listener = await listening(path);
	expect(listener.url).toBe(`unix:${path}`);
	expect([modeOf(path), modeOf(join(path, '..')), modeOf(join(path, '../..'))]).toEqual(['600', '700', '700']);
	expect(process.umask()).toBe(0);
	await listener.close();
	expect(existsSync(path)).toBe(false);
});

test('messages travel both ways, and a colon in the path is part of it', async () => {
	const path = join(scratchDirectory(), 'a:b.sock');
	const peers: string[] = [];
	await listening(path, {
		accept: transport => {
			peers.push(transport.peer);
			const end = RawPeer.open(transport);
			void end.nextText().then(text => end.send(text));
		},
	});
	const peer = RawPeer.open(await connectUnixSocket(path));
	expect(await peer.ask({hello: 1})).toEqual({hello: 1});
	expect(peers).toEqual([`websocket unix:${path}`]);
});

test('tokens can be asked for here, too', async () => {
	const path = join(scratchDirectory(), 'x.sock');
	await listening(path, {
		authorize: async ({authorization}) =>
			authorization === 'Bearer good' ? {kind: 'pass', pass: undefined} : {kind: 'refused', text: 'no'},
	});
	await expect(connectUnixSocket(path)).rejects.toThrow(`\`unix:${path}\`: HTTP error: 401 Unauthorized: `);
	RawPeer.open(await connectUnixSocket(path, {token: 'good'}));
});

test('a server that is not there is named', async () => {
	const path = join(scratchDirectory(), 'none.sock');
	await expect(connectUnixSocket(path)).rejects.toThrow(/websocket `unix:.*none\.sock`: connect ENOENT/);
});

test('a socket that a server left is replaced', async () => {
	const path = join(scratchDirectory(), 'x.sock');
	await staleSocket(path);
	await listening(path);
	expect(RawPeer.open(await connectUnixSocket(path)).ending).toBeUndefined();
});

test('a socket on which somebody answers is not touched', async () => {
	const path = join(scratchDirectory(), 'x.sock');
	await listening(path);
	await expect(listening(path)).rejects.toMatchObject({
		code: 'LISTEN_REFUSED',
		message: `refusing to listen on unix:${path}: another server answers there already`,
	});
	RawPeer.open(await connectUnixSocket(path));
});

test('anything else at the path is not touched', async () => {
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'file'), 'content');
	await staleSocket(join(directory, 'stale'));
	symlinkSync('stale', join(directory, 'link'));
	for (const name of ['file', 'link']) {
		await expect(listening(join(directory, name))).rejects.toThrow('something that is no socket is there already');
		expect(existsSync(join(directory, name))).toBe(true);
	}
});

test.each([0o777, 0o770, 0o720, 0o1777])(
	'a directory of mode %o is refused: others could replace the socket',
	async mode => {
		const directory = join(scratchDirectory(), 'shared');
		mkdirSync(directory);
		chmodSync(directory, mode);
		await expect(listening(join(directory, 'x.sock'))).rejects.toThrow(
			/its directory .* is writable by others; use one of your own$/,
		);
		// Made inside it, a directory is ours, but anybody can move it away, unless the sticky bit says no.
		const below = listening(join(directory, 'below', 'x.sock'));
		const outcome = await below.then(
			() => 'listening',
			(error: Error) => error.message,
		);
		expect(outcome).toMatch(mode === 0o1777 ? 'listening' : 'others, who could put another socket there');
	},
);

test('a link to a directory counts as the directory it leads to', async () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'shared'));
	chmodSync(join(root, 'shared'), 0o777);
	symlinkSync('shared', join(root, 'link'));
	await expect(listening(join(root, 'link', 'x.sock'))).rejects.toThrow('is writable by others');
});

test('a link that another user could replace is refused, wherever it leads', async () => {
	const root = scratchDirectory();
	const [ours, shared] = [join(root, 'ours'), join(root, 'shared')];
	for (const directory of [ours, shared]) mkdirSync(directory, {mode: 0o700});
	chmodSync(shared, 0o777);
	symlinkSync(ours, join(shared, 'link'));
	// A link of ours that leads through theirs.
	symlinkSync('shared/link', join(root, 'outer'));
	for (const name of ['shared/link', 'outer', 'shared/link/../ours', 'outer/below']) {
		await expect(listening(join(`${root}/${name}`, 'x.sock'))).rejects.toThrow(
			'others, who could put another socket there',
		);
	}
	symlinkSync('ours', join(root, 'good'));
	await listening(join(root, 'good', 'x.sock'));
});

test("another user's link in a shared directory is refused", needsRoot(), async () => {
	const root = scratchDirectory();
	const [ours, shared] = [join(root, 'ours'), join(root, 'shared')];
	for (const directory of [ours, shared]) mkdirSync(directory, {mode: 0o700});
	chmodSync(shared, 0o1777);
	symlinkSync(ours, join(shared, 'link'));
	lchownSync(join(shared, 'link'), STRANGER, STRANGER);
	await expect(listening(join(shared, 'link', 'x.sock'))).rejects.toThrow('others, who could put another socket there');
});

test("another user's directory, and one above, are refused, and so is another user's socket", needsRoot(), async () => {
	const root = scratchDirectory();
	const theirs = join(root, 'theirs');
	const ours = join(theirs, 'ours');
	mkdirSync(ours, {recursive: true});
	chownSync(theirs, STRANGER, STRANGER);
	await expect(listening(join(theirs, 'x.sock'))).rejects.toThrow('belongs to another user');
	await expect(listening(join(ours, 'x.sock'))).rejects.toThrow('could put another socket there');
	const stale = join(root, 'x.sock');
	await staleSocket(stale);
	chownSync(stale, STRANGER, STRANGER);
	await expect(listening(stale)).rejects.toThrow('a socket of another user is there already');
});

test('the kernel keeps other users from opening it, wherever it is', needsRoot(), async () => {
	const directory = scratchDirectory();
	const path = join(directory, 'x.sock');
	await listening(path);
	chmodSync(directory, 0o755);
	const error = await runAsNobody(
		() =>
			new Promise<NodeJS.ErrnoException>(resolve => {
				connect(path).once('error', resolve);
			}),
	);
	expect(error.code).toBe('EACCES');
});
