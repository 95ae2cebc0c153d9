// A client that was away while a process wrote a lot: every byte in order from disk, and the server stays small.
//   node bench/absence.mjs [--gb 10]                          ends with a table, exit 1 on a broken promise
import {statfsSync} from 'node:fs';
import {loadavg, tmpdir} from 'node:os';
import {join} from 'node:path';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {connect, startParams} from './lib/client.mjs';
import {MIB, timed, watchMemory} from './lib/measure.mjs';
import {BLOCKS_PER_MIB, blockWriter, bytesOfBlocks, watchBlocks} from './lib/numbered-blocks.mjs';
import {readOptions} from './lib/options.mjs';
import {statusOf} from './lib/proc.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {until} from './lib/waiting.mjs';

const {gb, folder, command} = readOptions('Output on disk for a client that was away.', {
	gb: {default: 10, help: 'to write, in 10^9 bytes; less where the disk has no room for them'},
	folder: {default: tmpdir(), help: 'where the output is kept'},
	command: COMMAND,
});
const MAX_RSS_MIB = 128;
/** Free space that is left alone. */
const SPARE_BYTES = 2e9;
const EXIT_CODE = 37;
const ID = 'writer';

const scratch = scratchFolder('absence', {below: folder});
const free = statfsSync(scratch);
const room = free.bavail * free.bsize - SPARE_BYTES;
const bytesWanted = Math.min(gb * 1e9, room);
if (bytesWanted < gb * 1e9) console.error(`the disk has room for ${(bytesWanted / 1e9).toFixed(1)} GB only`);
const blocks = Math.ceil((bytesWanted / MIB) * BLOCKS_PER_MIB);
const size = bytesOfBlocks(blocks);

const loadBefore = loadavg()[0];
const server = await startServer({
	command,
	settings: ['--listen', 'ws://127.0.0.1:0', '--state', join(scratch, 'state')],
});
const memory = watchMemory(() => ({server: server.pid}));
const peakMib = () => Math.round(statusOf(server.pid, 'VmHWM') / 1024);

const {ms: writingMs} = await timed(writeWhileAway);
const [peakWriting, sampledWriting] = [peakMib(), memory.stop().most.server];
console.error(`written in ${(writingMs / 1000).toFixed(1)} s`);

const readingMemory = watchMemory(() => ({server: server.pid}));
const client = await connect(server.url);
const {checker, done} = watchBlocks(client, ID);
const {result: exitCode, ms: readingMs} = await timed(async () => {
	await client.call('process/attach', {process: ID, role: 'observe', afterSeq: 0});
	return done;
});
const [peak, sampledReading] = [peakMib(), readingMemory.stop().most.server];
client.socket.close();
const serverCode = await server.stop();

const row = rowsOf('absence');
const speed = ms => `${(ms / 1000).toFixed(1)} (${Math.round(size / MIB / (ms / 1000))} MiB/s)`;
finish([
	row('GB written (asked for)', `${(size / 1e9).toFixed(2)} (${gb})`),
	row('load of the machine before / after', `${loadBefore.toFixed(1)} / ${loadavg()[0].toFixed(1)}`),
	row('seconds of writing while nobody is there', speed(writingMs)),
	row('seconds of reading from byte 0', speed(readingMs)),
	row('bytes received / written', `${checker.receivedBytes} / ${size}`, checker.receivedBytes === size),
	row('chunks with a wrong byte or out of order', checker.wrongChunks, checker.wrongChunks === 0),
	row('gaps', checker.gaps, checker.gaps === 0),
	row('exit code (expected)', `${exitCode} (${EXIT_CODE})`, exitCode === EXIT_CODE),
	row('most RSS sampled while writing / while reading, MiB', `${sampledWriting} / ${sampledReading}`),
	row(
		'peak RSS after writing / after all (bound), MiB',
		`${peakWriting} / ${peak} (${MAX_RSS_MIB})`,
		peak > 0 && peak <= MAX_RSS_MIB,
	),
	row('exit code of the server', serverCode, serverCode === 0),
]);

/** Starts the process, leaves at once and looks from afar whether it has ended, without attaching to it. */
async function writeWhileAway() {
	const starter = await connect(server.url);
	const argv = blockWriter(blocks, {exitCode: EXIT_CODE});
	await starter.call('process/start', startParams({id: ID, argv, onDisconnect: 'keep', spill: {}}));
	starter.socket.terminate();
	const onlooker = await connect(server.url);
	await until(async () => {
		if (server.death !== undefined) throw new Error(server.death);
		const {processes} = await onlooker.call('process/list', {all: true, includeEnded: true});
		return processes.find(({processId}) => processId === ID)?.state === 'closed';
	});
	onlooker.socket.close();
}
