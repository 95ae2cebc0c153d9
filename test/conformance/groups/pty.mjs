// Processes on a pseudo-terminal.
import {realpathSync} from 'node:fs';
import {equal, isError, match, ok} from '../lib/check.mjs';
import {command, sh as pipeSh, run, SLEEP, start, textOf, uri} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const sh = (script, extra) => pipeSh(script, {tty: true, ...extra});

export const tests = group('pty', ({core, current}) => {
	core('stdin, stdout and stderr are a terminal', async t => {
		const {pty} = await run(await t.open(), sh('test -t 0 && test -t 1 && test -t 2 && echo terminal'));
		equal(pty, 'terminal\r\n', 'output');
	});

	core('all output is one stream called pty, with CRLF line ends', async t => {
		const {events, pty} = await run(await t.open(), sh('echo out; echo err >&2'));
		equal(pty, 'out\r\nerr\r\n', 'output');
		ok(
			events.every(e => e.type !== 'output' || e.stream === 'pty'),
			'only pty chunks',
		);
	});

	core('the terminal has 24 rows and 80 columns', async t => {
		equal((await run(await t.open(), sh('stty size'))).pty, '24 80\r\n', 'stty size');
	});

	core('the process leads a session on its own controlling terminal', async t => {
		const {pty} = await run(await t.open(), sh('cat /proc/$$/stat; echo works > /dev/tty'));
		const stat = /^(\d+) \(.*\) \S \d+ \1 \1 [1-9]\d* (?<foreground>-?\d+) .*\r\nworks\r\n$/;
		match(pty, stat, 'pid, name, state, parent, group, session, terminal');
		equal(stat.exec(pty).groups.foreground, pty.split(' ')[0], 'foreground group');
	});

	core('a line that is written is echoed and read', async t => {
		const process = await start(await t.open(), sh('echo ready; IFS= read -r line; echo "from-stdin:$line"'));
		await process.shows('ready');
		equal(await process.write('hello\n'), {status: 'accepted'}, 'write');
		const {pty, exitCode} = await process.done();
		equal(pty, 'ready\r\nhello\r\nfrom-stdin:hello\r\n', 'output');
		equal(exitCode, 0, 'exit code');
	});

	core('an interactive loop answers line by line', async t => {
		const process = await start(await t.open(), sh('echo ready; while IFS= read -r l; do echo "echo:$l"; done'));
		await process.shows('ready');
		for (const word of ['one', 'two', 'three']) {
			await process.write(`${word}\n`);
			await process.shows(`echo:${word}\r\n`);
		}
	});

	core('Ctrl-C interrupts the process', async t => {
		const process = await start(
			await t.open(),
			sh('trap "echo caught; exit 9" INT; echo ready; while :; do sleep 0.05; done'),
		);
		await process.shows('ready');
		await process.write('\x03');
		const {pty, exitCode} = await process.done();
		match(pty, /caught/, 'output');
		equal(exitCode, 9, 'exit code');
	});

	core('Ctrl-D is the end of file', async t => {
		const process = await start(await t.open(), command(['cat'], {tty: true}));
		await process.write('abc\n');
		await process.shows('abc\r\nabc\r\n');
		await process.write('\x04');
		equal((await process.done()).exitCode, 0, 'exit code');
	});

	core('the exit code is reported', async t => {
		equal((await run(await t.open(), sh('exit 3'))).exitCode, 3, 'exit code');
	});

	core('seq is contiguous and closed comes last', async t => {
		const {events} = await run(await t.open(), sh('echo a; sleep 0.05; echo b; sleep 0.05; echo c'));
		equal(
			events.map(e => e.seq),
			events.map((_, i) => i + 1),
			'seqs',
		);
		equal(events.at(-1).type, 'closed', 'last event');
	});

	core('cwd and env are respected', async t => {
		const dir = realpathSync(t.dir());
		const {pty} = await run(await t.open(), sh('pwd; echo "$CUSTOM"', {cwd: uri(dir), env: {CUSTOM: 'yes'}}));
		equal(pty, `${dir}\r\nyes\r\n`, 'output');
	});

	core('a missing program is an internal error', async t => {
		isError(await (await t.open()).fail('process/start', command(['/no/such/program'], {tty: true})), -32603);
	});

	core('an empty argv is invalid params', async t => {
		isError(await (await t.open()).fail('process/start', command([], {tty: true})), -32602, 'argv must not be empty');
	});

	core('read returns the terminal output', async t => {
		const process = await start(await t.open(), sh('echo text'));
		await process.done();
		const {chunks} = await process.read();
		// A terminal may hand a line and its end over in two parts.
		equal([...new Set(chunks.map(c => c.stream))], ['pty'], 'streams');
		equal(textOf(chunks), 'text\r\n', 'output');
	});

	core('terminate ends the process', async t => {
		const process = await start(await t.open(), sh(`echo ready; ${SLEEP}`));
		await process.shows('ready');
		equal(await process.terminate(), {running: true}, 'terminate');
		await process.done();
	});

	core('in raw mode bytes pass through unchanged', async t => {
		const process = await start(await t.open(), sh("stty raw -echo; printf 'a\\nb\\377\\303'"));
		await process.done();
		equal(process.raw('pty').toString('hex'), '610a62ffc3', 'bytes');
	});

	core('two megabytes arrive complete', async t => {
		const process = await start(await t.open(), sh('head -c 2000000 /dev/zero | tr "\\0" y'));
		await process.done();
		const output = process.raw('pty');
		equal(output.length, 2_000_000, 'bytes');
		ok(
			output.every(byte => byte === 0x79),
			'only the letter y',
		);
	});

	core('tty wins over pipeStdin', async t => {
		equal((await run(await t.open(), sh('test -t 0 && echo tty', {pipeStdin: true}))).pty, 'tty\r\n', 'output');
	});

	core('programs that cannot be found or executed are internal errors', async t => {
		const peer = await t.open();
		isError(await peer.fail('process/start', command(['no-such-program-anywhere'], {tty: true})), -32603);
		isError(await peer.fail('process/start', command(['/etc/passwd'], {tty: true})), -32603);
		isError(await peer.fail('process/start', command([''], {tty: true})), -32603);
	});

	core(
		'a missing cwd is an error',
		{upstream: 'a PTY process silently starts in the home directory instead'},
		async t => {
			isError(await (await t.open()).fail('process/start', sh('true', {cwd: 'file:///no/such/dir'})), -32603);
		},
	);

	core('arg0 only renames the process', {upstream: 'arg0 replaces the program that is looked up on a PTY'}, async t => {
		equal((await run(await t.open(), sh('echo $0', {arg0: 'other-name'}))).pty, 'other-name\r\n', 'output');
	});

	core(
		'death by signal n is exit code 128 + n',
		{upstream: 'a PTY process killed by a signal is reported with exit code 1'},
		async t => {
			equal((await run(await t.open(), sh('kill -TERM $$'))).exitCode, 143, 'exit code');
		},
	);

	current('process/signal interrupts a terminal process', async t => {
		const process = await start(
			await t.open(),
			sh('trap "echo caught; exit 9" INT; echo ready; while :; do sleep 0.05; done'),
		);
		await process.shows('ready');
		equal(await process.signal('interrupt'), {}, 'signal');
		equal((await process.done()).exitCode, 9, 'exit code');
	});
});
