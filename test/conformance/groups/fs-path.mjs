// Paths are file: URIs; followSymlinks and canonicalize deal with links.
import {mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {equal, isError, ok} from '../lib/check.mjs';
import {base64, uri} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const direct = {followSymlinks: false};

async function fixture(t) {
	const dir = realpathSync(t.dir());
	const at = (...names) => join(dir, ...names);
	mkdirSync(at('real'));
	writeFileSync(at('real', 'file'), 'hello');
	symlinkSync('real', at('alias'));
	symlinkSync('real/file', at('link'));
	return {peer: await t.open(), at, path: (...names) => ({path: uri(at(...names))})};
}

export const tests = group('fs-path', ({core, current}) => {
	core('names with spaces, percent, hash, question mark and unicode work', async t => {
		const {peer, at, path} = await fixture(t);
		for (const name of [
			'with space',
			'100%',
			'ha#sh',
			'what?',
			'é漢🦾',
			'quo\'te"',
			'semi;colon',
			'back\\slash',
			'new\nline',
		]) {
			await peer.call('fs/writeFile', {...path(name), dataBase64: base64(name)});
			equal(readFileSync(at(name), 'utf8'), name, `content of ${JSON.stringify(name)}`);
		}
	});

	core('dots in a path are resolved', async t => {
		const {peer, path} = await fixture(t);
		const dotted = `${path().path}/real/../real/./file`;
		equal((await peer.call('fs/readFile', {path: dotted})).dataBase64, base64('hello'), 'data');
	});

	core('an absolute native path is accepted', {upstream: 'only file: URIs since mid 2026'}, async t => {
		const {peer, at} = await fixture(t);
		equal((await peer.call('fs/readFile', {path: at('real', 'file')})).dataBase64, base64('hello'), 'data');
	});

	current('a relative path and an empty one are invalid params', async t => {
		const peer = await t.open();
		for (const path of ['file', './file', '']) isError(await peer.fail('fs/readFile', {path}), -32602);
	});

	current('another scheme, a query and a fragment are invalid params', async t => {
		const {peer, path} = await fixture(t);
		const file = path('real', 'file').path;
		for (const bad of ['http://localhost/x', 'data:,x', `${file}?query`, `${file}#fragment`]) {
			isError(await peer.fail('fs/readFile', {path: bad}), -32602);
		}
	});

	current('a URI with a foreign host is refused, localhost is accepted', async t => {
		const {peer, at} = await fixture(t);
		await peer.fail('fs/getMetadata', {path: `file://elsewhere${at('real')}`});
		equal(
			(await peer.call('fs/getMetadata', {path: `file://localhost${at('real')}`})).isDirectory,
			true,
			'isDirectory',
		);
	});

	current('canonicalize resolves links and dots', async t => {
		const {peer, path} = await fixture(t);
		equal(await peer.call('fs/canonicalize', path('alias', 'file')), path('real', 'file'), 'through a link');
		equal(
			await peer.call('fs/canonicalize', {path: `${path('real').path}/../real/./file`}),
			path('real', 'file'),
			'through dots',
		);
	});

	current('canonicalize of something missing is not-found', async t => {
		const {peer, path} = await fixture(t);
		isError(await peer.fail('fs/canonicalize', path('missing')), -32004);
	});

	current('followSymlinks false still handles plain files', async t => {
		const {peer, at, path} = await fixture(t);
		equal((await peer.call('fs/readFile', {...path('real', 'file'), ...direct})).dataBase64, base64('hello'), 'data');
		await peer.call('fs/writeFile', {...path('real', 'file'), dataBase64: base64('hi'), ...direct});
		equal(readFileSync(at('real', 'file'), 'utf8'), 'hi', 'content');
		equal((await peer.call('fs/getMetadata', {...path('real', 'file'), ...direct})).size, 2, 'size');
		await peer.call('fs/createDirectory', {...path('real', 'a', 'b'), ...direct});
		await peer.call('fs/remove', {...path('real', 'file'), recursive: false, ...direct});
	});

	current('followSymlinks false refuses a link as the last component', async t => {
		const {peer, at, path} = await fixture(t);
		await peer.fail('fs/readFile', {...path('link'), ...direct});
		await peer.fail('fs/writeFile', {...path('link'), dataBase64: base64('no'), ...direct});
		await peer.fail('fs/remove', {...path('link'), recursive: false, ...direct});
		isError(await peer.fail('fs/getMetadata', {...path('link'), ...direct}), -32600, 'path contains a symbolic link');
		equal(readFileSync(at('link'), 'utf8'), 'hello', 'content');
	});

	current('followSymlinks false refuses a link on the way', async t => {
		const {peer, at, path} = await fixture(t);
		await peer.fail('fs/readFile', {...path('alias', 'file'), ...direct});
		await peer.fail('fs/writeFile', {...path('alias', 'new'), dataBase64: '', ...direct});
		await peer.fail('fs/createDirectory', {...path('alias', 'made'), ...direct});
		await peer.fail('fs/getMetadata', {...path('alias', 'file'), ...direct});
		equal(readdirSync(at('real')), ['file'], 'content of the real directory');
	});

	core('the root directory can be inspected', async t => {
		const peer = await t.open();
		equal((await peer.call('fs/getMetadata', {path: 'file:///'})).isDirectory, true, 'isDirectory');
		ok((await peer.call('fs/readDirectory', {path: 'file:///'})).entries.length > 0, 'entries');
	});

	core('an encoded NUL byte is refused without harm', async t => {
		const peer = await t.open();
		const dir = t.dir();
		await peer.fail('fs/readFile', {path: `${uri(dir)}/%00`});
		await peer.fail('fs/writeFile', {path: `${uri(dir)}/a%00b`, dataBase64: ''});
		equal(readdirSync(dir), [], 'files');
		equal((await peer.call('fs/getMetadata', {path: 'file:///'})).isDirectory, true, 'next reply');
	});

	current('a path that is no string is invalid params', async t => {
		const peer = await t.open();
		for (const path of [1, null, ['file:///tmp'], {uri: 'file:///tmp'}])
			isError(await peer.fail('fs/readFile', {path}), -32602);
	});

	current('followSymlinks false: missing things are not-found', async t => {
		const path = uri(join(realpathSync(t.dir()), 'missing'));
		const peer = await t.open();
		for (const method of ['fs/readFile', 'fs/getMetadata']) isError(await peer.fail(method, {path, ...direct}), -32004);
	});
});
