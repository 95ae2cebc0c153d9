// Processes without a terminal: argv, cwd, env, exit codes, separate stdout and stderr.
import {existsSync, mkdirSync, realpathSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {equal, isError, match, ok} from '../lib/check.mjs';
import {command, run, sh, sleeper, start, startInSteps, uri} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';
import {eventually} from '../lib/time.mjs';

const without = (params, key) => {
	const {[key]: _, ...rest} = params;
	return rest;
};

export const tests = group('pipe', ({core, current}) => {
	core('start answers with the process id', async t => {
		const result = await (await t.open()).call('process/start', command(['true'], {processId: 'my proc/1'}));
		equal(result.processId, 'my proc/1', 'process id');
	});

	core('a process that exits at once is reported as exited and closed', async t => {
		const {events, exitCode} = await run(await t.open(), command(['true']));
		equal(
			events.map(e => e.type),
			['exited', 'closed'],
			'events',
		);
		equal(exitCode, 0, 'exit code');
	});

	core('the exit code is reported', async t => {
		const peer = await t.open();
		for (const code of [1, 7, 255]) equal((await run(peer, sh(`exit ${code}`))).exitCode, code, 'exit code');
	});

	core('stdout and stderr are told apart', async t => {
		const {stdout, stderr} = await run(await t.open(), sh('echo to out; echo to err >&2'));
		equal([stdout, stderr], ['to out\n', 'to err\n'], '[stdout, stderr]');
	});

	core('output, stderr, exit and close arrive as seq 1, 2, 3, 4', async t => {
		const process = await startInSteps(await t.open(), ['echo one', 'echo two >&2', 'exit 7']);
		const {events} = await process.done();
		equal(
			events.map(e => [e.seq, e.type, e.stream ?? e.exitCode]),
			[
				[1, 'output', 'stdout'],
				[2, 'output', 'stderr'],
				[3, 'exited', 7],
				[4, 'closed', undefined],
			],
			'[seq, type, stream or code]',
		);
	});

	core('arguments are passed verbatim', async t => {
		const args = ['two words', '', '"quotes"', "it's", '$HOME', '*', 'naïve 漢字 🦾', 'line\nbreak', '--flag'];
		const {stdout} = await run(await t.open(), command(['printf', '%s\\0', ...args]));
		equal(stdout.split('\0').slice(0, -1), args, 'arguments');
	});

	core('the process runs in cwd', async t => {
		const dir = realpathSync(t.dir());
		equal((await run(await t.open(), command(['pwd'], {cwd: uri(dir)}))).stdout, `${dir}\n`, 'pwd');
	});

	core('a cwd with spaces and special characters works', async t => {
		const dir = join(realpathSync(t.dir()), 'with space, é, # and %');
		mkdirSync(dir);
		equal((await run(await t.open(), command(['pwd'], {cwd: uri(dir)}))).stdout, `${dir}\n`, 'pwd');
	});

	core('the environment is exactly what env says', async t => {
		const env = {ONLY: 'this one', EMPTY: '', UTF8: 'é漢'};
		const {stdout} = await run(await t.open(), command(['/usr/bin/env'], {env}));
		equal(stdout.split('\n').filter(Boolean).sort(), ['EMPTY=', 'ONLY=this one', 'UTF8=é漢'], 'environment');
	});

	core('arg0 replaces what the process sees as its name', async t => {
		const {stdout} = await run(await t.open(), sh('echo $0', {arg0: 'other-name'}));
		equal(stdout, 'other-name\n', '$0');
	});

	core('a program without a slash is found through PATH', async t => {
		equal((await run(await t.open(), command(['echo', 'found']))).stdout, 'found\n', 'stdout');
	});

	core('bytes that are no UTF-8 arrive unchanged', async t => {
		const process = await start(await t.open(), sh("printf '\\377\\376\\000\\001\\200abc\\303'"));
		await process.done();
		equal(process.raw('stdout').toString('hex'), 'fffe000180616263c3', 'bytes');
	});

	core('death by signal n is exit code 128 + n', async t => {
		const peer = await t.open();
		equal((await run(peer, sh('kill -TERM $$'))).exitCode, 143, 'after SIGTERM');
		equal((await run(peer, sh('kill -KILL $$'))).exitCode, 137, 'after SIGKILL');
	});

	core('stdin is at end of file unless pipeStdin is set', async t => {
		const script = 'if read line; then echo "read:$line"; else echo eof; fi';
		const peer = await t.open();
		equal((await run(peer, sh(script))).stdout, 'eof\n', 'with pipeStdin false');
		equal((await run(peer, without(sh(script), 'pipeStdin'))).stdout, 'eof\n', 'without pipeStdin');
	});

	core('arg0 may be left out', async t => {
		equal((await run(await t.open(), without(sh('exit 3'), 'arg0'))).exitCode, 3, 'exit code');
	});

	core('the process has no terminal and leads its own session', async t => {
		const {stdout} = await run(await t.open(), sh('tty; cat /proc/$$/stat'));
		const [tty, stat] = stdout.trim().split('\n');
		equal(tty, 'not a tty', 'tty');
		match(stat, /^(\d+) \(.*\) \S \d+ \1 \1 0 -1 /, 'pid, name, state, parent, group, session, terminal, its group');
	});

	core('an empty argv is invalid params', async t => {
		isError(await (await t.open()).fail('process/start', command([])), -32602, 'argv must not be empty');
	});

	core('a missing program is an internal error and frees the id', async t => {
		const peer = await t.open();
		isError(await peer.fail('process/start', command(['/no/such/program'], {processId: 'again'})), -32603);
		equal((await run(peer, sh('exit 3', {processId: 'again'}))).exitCode, 3, 'exit code of the second start');
	});

	core('a missing cwd is an internal error', async t => {
		isError(await (await t.open()).fail('process/start', command(['true'], {cwd: 'file:///no/such/dir'})), -32603);
	});

	core('nothing is reported about a process that could not be started', async t => {
		const peer = await t.open();
		await peer.fail('process/start', command(['/no/such/program']));
		await run(peer, sh('true', {processId: 'real'}));
		ok(
			peer.inbox.every(m => !m.method || m.params.processId === 'real'),
			'notifications only about the real process',
		);
	});

	core('a process id in use is refused', async t => {
		const peer = await t.open();
		await start(peer, sleeper({processId: 'twin'}));
		isError(
			await peer.fail('process/start', command(['true'], {processId: 'twin'})),
			-32600,
			'process twin already exists',
		);
	});

	core('two starts with one id at the same time: exactly one succeeds', async t => {
		const peer = await t.open();
		const ids = [1, 2, 3, 4].map(() => peer.post('process/start', sleeper({processId: 'race'})));
		const replies = await Promise.all(ids.map(id => peer.reply(id)));
		equal(replies.filter(m => m.result).length, 1, 'successful starts');
		for (const {error} of replies) if (error) isError(error, -32600, 'process race already exists');
	});

	core('argv, cwd, env, tty and processId are required', async t => {
		const peer = await t.open();
		for (const key of ['argv', 'cwd', 'env', 'tty', 'processId']) {
			isError(await peer.fail('process/start', without(command(['true']), key)), -32602);
		}
	});

	core('argv and env take only strings', async t => {
		const peer = await t.open();
		isError(await peer.fail('process/start', command(['echo', 1])), -32602);
		isError(await peer.fail('process/start', command(['true'], {env: {A: 1}})), -32602);
	});

	core('an absolute native path as cwd is accepted', {upstream: 'only file: URIs since mid 2026'}, async t => {
		const {stdout} = await run(await t.open(), command(['/bin/pwd'], {cwd: '/usr'}));
		equal(stdout, '/usr\n', 'stdout');
	});

	current('a relative path as cwd is invalid params', async t => {
		for (const cwd of ['', 'usr', './usr'])
			isError(await (await t.open()).fail('process/start', command(['true'], {cwd})), -32602);
	});

	current('start, exited and read say that no sandbox was involved', async t => {
		const peer = await t.open();
		const params = command(['true']);
		equal((await peer.call('process/start', params)).sandboxType, 'none', 'sandboxType');
		const exited = (await peer.find(m => m.method === 'process/exited')).params;
		equal(exited.sandboxDenied, false, 'sandboxDenied in process/exited');
		equal(
			(await peer.call('process/read', {processId: params.processId})).sandboxDenied,
			false,
			'sandboxDenied in process/read',
		);
	});

	core('a segmentation fault is exit code 139', async t => {
		equal((await run(await t.open(), sh('ulimit -c 0; kill -SEGV $$'))).exitCode, 139, 'exit code');
	});

	core('an empty program name is an error', async t => {
		isError(await (await t.open()).fail('process/start', command([''])), -32603);
	});

	core('PATH of the given env decides where programs are found', async t => {
		const dir = t.dir();
		writeFileSync(join(dir, 'only-here'), '#!/bin/sh\necho here\n', {mode: 0o755});
		const env = {PATH: `${dir}:/usr/bin:/bin`};
		equal((await run(await t.open(), command(['only-here'], {env}))).stdout, 'here\n', 'stdout');
	});

	core('a cwd that is a file is an internal error', async t => {
		isError(await (await t.open()).fail('process/start', command(['true'], {cwd: uri('/etc/passwd')})), -32603);
	});

	core('env names with odd characters are passed on', async t => {
		const {stdout} = await run(
			await t.open(),
			command(['/usr/bin/env'], {env: {'with space': '1', 'dash-ed': '2', V: 'a=b'}}),
		);
		equal(stdout.trim().split('\n').sort(), ['V=a=b', 'dash-ed=2', 'with space=1'], 'environment');
	});

	core('a script that closes its own streams is still reported to the end', async t => {
		const gate = t.gate();
		const marker = join(t.dir(), 'marker');
		const process = await start(await t.open(), sh(`exec >&- 2>&-; : > '${marker}'; ${gate.wait}; exit 4`));
		await eventually(() => existsSync(marker), 'the streams to be closed');
		const {exited, closed} = await process.read({waitMs: 300});
		equal({exited, closed}, {exited: false, closed: false}, 'state before the exit');
		gate.open();
		const {events, exitCode} = await process.done();
		equal(
			events.map(e => e.type),
			['exited', 'closed'],
			'events',
		);
		equal(exitCode, 4, 'exit code');
	});

	current('a cwd that is no usable file: URI is invalid params', async t => {
		const peer = await t.open();
		for (const cwd of [
			'http://host/tmp',
			'file://host/tmp',
			'file:///tmp?query',
			'file:///tmp#fragment',
			'tmp',
			'',
			5,
		]) {
			isError(await peer.fail('process/start', command(['true'], {cwd})), -32602);
		}
	});
});
