import {spawn} from 'node:child_process';
import {closeSync} from 'node:fs';
import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';

/** Output of a stream that is sent in one turn of the event loop. */
const MAX_TURN_BYTES = 131_072;
/** Smaller reads count as a burst, from the ninth in 5 ms on. */
const SMALL_READ_BYTES = 2048;
const BURST_WINDOW_MS = 5;
const MAX_UNGATHERED_READS = 8;
const MAX_GATHERED_BYTES = 32_768;
const GATHER_MS = 1;
/** Output is not gathered this long after a write to stdin. */
const INTERACTIVE_MS = 5;

const terminals = loadTerminals();

function loadTerminals() {
	try {
		return createRequire(import.meta.url)('@lydell/node-pty');
	} catch {
		// It is optional; terminals fail then.
		return undefined;
	}
}

export function processHandlers(connection, {isBest, isNaive, openFifo, peer}) {
	const {send, sendBulk, answer, choke} = connection;
	const states = new Map();
	peer.on('close', () => {
		for (const state of states.values()) state.kill?.();
	});

	const emitter = (state, processId, stream) => {
		const head = `{"method":"process/output","params":{"processId":"${processId}","seq":`;
		if (!isNaive) return data => sendBulk(`${head}${++state.seq},"stream":"${stream}","chunk":"`, data, '"}}');
		return data => {
			const params = {processId, seq: ++state.seq, stream, chunk: data.toString('base64')};
			send(JSON.stringify({method: 'process/output', params}));
		};
	};

	const start = (id, {processId, argv, cwd, env, tty, pipeStdin}) => {
		const state = {seq: 0, openStreams: 2, exitCode: null, interactiveUntil: 0, flushes: []};
		states.set(processId, state);
		const finish = () => {
			if (state.openStreams || state.exitCode === null) return;
			send(`{"method":"process/closed","params":{"processId":"${processId}","seq":${++state.seq}}}`);
			states.delete(processId);
		};
		const exited = code => {
			state.exitCode = code;
			send(
				`{"method":"process/exited","params":{"processId":"${processId}","seq":${++state.seq},"exitCode":${code},"sandboxDenied":false}}`,
			);
			finish();
		};
		const listener = (stream, source) => {
			const emit = emitter(state, processId, stream);
			const forward = data => {
				emit(data);
				choke(source);
			};
			return isBest ? gathered(state, source, forward) : forward;
		};
		const flush = () => {
			for (const each of state.flushes) each();
		};
		const folder = fileURLToPath(cwd);
		if (tty) {
			const terminal = terminals.spawn(argv[0], argv.slice(1), {cwd: folder, env, encoding: null});
			state.write = bytes => terminal.write(bytes);
			state.kill = () => terminal.kill('SIGKILL');
			state.openStreams = 0;
			terminal.onData(listener('pty', terminal));
			terminal.onExit(({exitCode}) => {
				flush();
				exited(exitCode);
			});
		} else {
			const {child, streams} = spawnPipes(argv, {cwd: folder, env, pipeStdin, openFifo});
			state.write = bytes => child.stdin.write(bytes);
			state.kill = () => child.kill('SIGKILL');
			for (const [name, source] of Object.entries(streams)) {
				source.on('data', listener(name, source));
				source.on('close', () => {
					flush();
					state.openStreams--;
					finish();
				});
			}
			child.on('exit', (code, signal) => exited(code ?? (signal ? 137 : -1)));
		}
		answer(id, {processId, sandboxType: 'none'});
	};

	return {
		'process/start': start,
		'process/write'(id, {processId, chunk}) {
			const state = states.get(processId);
			if (state) {
				state.interactiveUntil = performance.now() + INTERACTIVE_MS;
				state.write(Buffer.from(chunk, 'base64'));
			}
			answer(id, {status: 'accepted'});
		},
		'process/read'(id, {waitMs}) {
			const result = {chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false, failure: null};
			setTimeout(() => answer(id, result), waitMs ?? 0);
		},
		'process/terminate'(id, {processId}) {
			const state = states.get(processId);
			state?.kill();
			answer(id, {running: state !== undefined});
		},
	};
}

function spawnPipes([file, ...args], {cwd, env, pipeStdin, openFifo}) {
	const fifos = openFifo && [openFifo(), openFifo()];
	const outputs = fifos ? fifos.map(({writer}) => writer) : ['pipe', 'pipe'];
	const child = spawn(file, args, {cwd, env, detached: true, stdio: [pipeStdin ? 'pipe' : 'ignore', ...outputs]});
	if (!fifos) return {child, streams: {stdout: child.stdout, stderr: child.stderr}};
	for (const {writer} of fifos) closeSync(writer);
	const [stdout, stderr] = fifos.map(({openReader}) => openReader());
	return {child, streams: {stdout, stderr}};
}

/**
 * Gathers bursts of small chunks, and leaves the stream for a turn after much output. `state.flushes` empties what is
 * held before the stream is closed.
 */
function gathered(state, source, forward) {
	let pieces = [];
	let size = 0;
	let timer = null;
	let reads = 0;
	let windowEnd = 0;
	let turnBytes = 0;
	const nextTurn = () => {
		turnBytes = 0;
		if (!timer) source._handle?.readStart?.();
	};
	const flush = () => {
		if (timer) {
			clearTimeout(timer);
			timer = null;
			source._handle?.readStart?.();
		}
		if (!size) return;
		const data = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, size);
		pieces = [];
		size = 0;
		forward(data);
	};
	state.flushes.push(flush);
	return data => {
		pieces.push(data);
		size += data.length;
		turnBytes += data.length;
		if (turnBytes >= MAX_TURN_BYTES && turnBytes - data.length < MAX_TURN_BYTES) {
			source._handle?.readStop?.();
			setImmediate(nextTurn);
		}
		const time = performance.now();
		if (time > windowEnd) {
			windowEnd = time + BURST_WINDOW_MS;
			reads = 0;
		}
		const isLarge = size >= MAX_GATHERED_BYTES || data.length >= SMALL_READ_BYTES;
		if (isLarge || time < state.interactiveUntil || ++reads <= MAX_UNGATHERED_READS) flush();
		else if (!timer) {
			timer = setTimeout(flush, GATHER_MS);
			source._handle?.readStop?.();
		}
	};
}
