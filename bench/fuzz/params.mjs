import {LONGARM_STARTS, longarmParams} from './longarm-params.mjs';
import {SCRATCH, sessionStandIn, TOKEN, withNamesOfRun} from './stand-ins.mjs';

const PROCESS_ENVIRONMENT = Object.freeze({PATH: '/usr/bin:/bin', LONGARM_FUZZ: TOKEN});

const LEAVES_AN_ORPHAN = ['sh', '-c', 'sleep 0.05 & exit 3'];
/** The commands that are started, whole. Cheap, and over soon by themselves or by their time limit. */
const COMMANDS = frozen([
	['/bin/true'],
	['true', 'with', 'arguments'],
	['/bin/false'],
	['printf', 'x'],
	['printf', '%s\\n', '\u{1f980} hello'],
	['printf', '%05000d', '0'],
	['/bin/cat'],
	['cat'],
	['cat', '-'],
	['sleep', '0.02'],
	['sh', '-c', 'printf out; printf err >&2; exit 7'],
	LEAVES_AN_ORPHAN,
	['sh', '-c', 'kill -9 $$'],
	['/nonexistent/program'],
	['no-such-program'],
	['/tmp'],
	[''],
	[],
]);

const COMMANDS_WITHOUT_ORPHAN = COMMANDS.filter(argv => argv !== LEAVES_AN_ORPHAN);
export const KNOWN_COMMANDS = new Set(COMMANDS.map(argv => argv.join('\0')));

export const KNOWN_ARG0 = new Set(['', 'fuzz', '-sh', '\u{1f980}']);

// biome-ignore format: a list to read, not one line each
const DIRECTORIES = [
	`file://${SCRATCH}`, `file://${SCRATCH}`, SCRATCH, 'file:///', '/tmp/', 'file:///nonexistent', 'file:///C:/x',
	'file://host/share', 'file:///%FF%2F..', 'file:///a%00b', 'file:///%00/bad/path/L0M6L3g', 'file:///tmp?',
	'file://localhost/tmp', 'FILE:tmp', 'http://x/', 'relative', '',
];

export function startParams(processId, argv, changes = {}) {
	const env = PROCESS_ENVIRONMENT;
	return {processId, argv, cwd: `file://${SCRATCH}`, env, tty: false, timeoutMs: 1000, ...changes};
}

/** Files are only ever touched under the scratch directory; see `isHarmless`. */
const FILES = ['a.txt', 'link', 'dir', 'dir/b.txt', 'new', 'new/deep/er', '%F0%9F%A6%80', 'x/../a.txt', ''].flatMap(
	name => [`file://${SCRATCH}/${name}`, `${SCRATCH}/${name}`],
);

/** As they are sent. */
export const KNOWN_FILES = new Set(FILES.map(file => withNamesOfRun(file)));

const SANDBOXES = frozen([
	undefined,
	undefined,
	null,
	{permissions: {type: 'disabled'}, windowsSandboxLevel: 'disabled'},
	{
		permissions: {
			type: 'managed',
			file_system: {
				type: 'restricted',
				entries: [{path: {type: 'path', path: FILES[0]}, access: 'write'}],
			},
			network: 'restricted',
		},
		windowsSandboxLevel: 'restricted-token',
		workspaceRoots: [FILES[0]],
	},
]);

/** An orphan that is stopped lives as long as its session, and rightly so: no episode has both. */
const someCommand = ({random, stops}) => random.pick(stops ? COMMANDS_WITHOUT_ORPHAN : COMMANDS);
/** A process that may exist. */
export const someProcess = ({random, started}) =>
	random.chance(0.9)
		? `p${Math.max(0, started - random.below(6))}`
		: random.pick(['', 'none', 'p0', '__proto__', 'x'.repeat(1000)]);

const someFile = ({random}) => random.pick(FILES);

const someSandbox = ({random}) => random.pick(SANDBOXES);

const someBytes = ({random}) => random.bytes(random.below(random.pick([2, 20, 2000]))).toString('base64');

const NO_SESSIONS = [undefined, null, '', 'nope', '66af2bc5-9155-45a3-bb6d-49043ecb2b32'];
const someSession = ({random, sessions}) =>
	random.pick([...NO_SESSIONS, ...sessions.map((_, index) => sessionStandIn(index))]);

const someHandle = ({random}) => `h${random.below(4)}`;

const PARAMS = {
	initialize: episode => ({clientName: 'fuzz', resumeSessionId: someSession(episode)}),
	'environment/info': ({random}) => random.pick([undefined, null, {}]),
	'environment/status': ({random}) => random.pick([undefined, null, {}]),
	'environmentConfig/read': ({random}) => ({
		cwd: `file://${SCRATCH}`,
		configPaths: random.pick([[], [['model']], [[]]]),
		requirementsPaths: [['a', 'b']],
	}),
	'capabilityRoots/discoverV1': episode => ({
		roots: [{id: 'r', path: someFile(episode), sandbox: someSandbox(episode)}],
	}),
	'capabilities/discoverV2': episode => ({cwd: someFile(episode), sandbox: someSandbox(episode)}),
	'process/start': episode => {
		const {random} = episode;
		const changes = {tty: random.chance(0.2), pipeStdin: random.chance(0.5), timeoutMs: random.below(1500)};
		if (random.chance(0.2)) changes.io = random.pick([{pty: {rows: 24, cols: 80}}, {pipe: {stdin: 'open'}}]);
		if (random.chance(0.2)) changes.onDisconnect = random.pick(['endAtOnce', 'endWithSession', {keepForMs: 500}]);
		if (random.chance(0.1)) changes.cwd = random.pick(DIRECTORIES);
		if (random.chance(0.1)) changes.arg0 = random.pick([null, ...KNOWN_ARG0]);
		if (random.chance(0.1)) changes.sandbox = someSandbox(episode);
		if (random.chance(0.1)) changes.metadata = {toolCallId: 'call'};
		if (random.chance(0.1)) changes.prepared = true;
		if (random.chance(0.1)) changes.managedNetwork = {loopbackPorts: [1], allowLocalBinding: true};
		if (random.chance(0.05)) changes.networkProxy = {enabled: true};
		if (random.chance(0.2)) Object.assign(changes, random.pick(LONGARM_STARTS));
		if (random.chance(0.2)) {
			const set = {LONGARM_FUZZ: TOKEN, A: ''};
			const [exclude, includeOnly] = [['*PASS?*'], random.pick([[], ['*'], ['LONGARM_*', 'PATH']])];
			changes.envPolicy = {
				inherit: random.pick(['core', 'all', 'none']),
				ignoreDefaultExcludes: true,
				exclude,
				set,
				includeOnly,
			};
		}
		const processId = random.chance(0.9) ? `p${++episode.started}` : someProcess(episode);
		return startParams(processId, someCommand(episode), changes);
	},
	'process/read': episode => ({
		processId: someProcess(episode),
		afterSeq: episode.random.pick([undefined, null, 0, 1, 3, 2 ** 53]),
		maxBytes: episode.random.pick([undefined, null, 0, 1, 65_536]),
		waitMs: episode.random.pick([undefined, null, 0, 1, 50, 2 ** 40]),
	}),
	'process/write': episode => ({
		processId: someProcess(episode),
		chunk: someBytes(episode),
		writeId: episode.random.pick([undefined, '1', '2', `w${episode.nextId}`, '']),
	}),
	'process/signal': episode => ({
		processId: someProcess(episode),
		signal: episode.random.pick([
			'interrupt',
			...['TERM', 'sigusr1', episode.stops ? 'STOP' : 'CONT', 'WINCH', 'no'].map(name => ({name})),
		]),
	}),
	'process/terminate': episode => ({
		processId: someProcess(episode),
		mode: episode.random.pick([undefined, null, 'force', {graceful: {timeoutMs: episode.random.below(300)}}]),
	}),
	'process/closeStdin': episode => ({processId: someProcess(episode)}),
	'process/resize': episode => ({processId: someProcess(episode), rows: 1 + episode.random.below(100), cols: 65_535}),
	'process/wait': episode => ({
		processId: someProcess(episode),
		timeoutMs: episode.random.pick([undefined, null, 0, 1, 50, 2 ** 40]),
	}),
	'process/snapshot': episode => ({processId: someProcess(episode)}),
	'process/list': ({random}) => random.pick([undefined, null, {}]),
	'command/exec': episode => ({
		argv: someCommand(episode),
		cwd: episode.random.pick([SCRATCH, ...DIRECTORIES]),
		env: PROCESS_ENVIRONMENT,
		tty: episode.random.chance(0.3),
		arg0: episode.random.pick([undefined, null, 'fuzz']),
	}),
	'command/exec/write': episode => ({sessionId: `session-${episode.random.below(6)}`, chunk: someBytes(episode)}),
	'command/exec/terminate': ({random}) => ({sessionId: `session-${random.below(6)}`}),
	'fs/readFile': episode => ({path: someFile(episode), sandbox: someSandbox(episode)}),
	'fs/writeFile': episode => ({path: someFile(episode), dataBase64: someBytes(episode), followSymlinks: false}),
	'fs/open': episode => ({
		handleId: someHandle(episode),
		path: someFile(episode),
		mode: episode.random.pick(['read', 'replace']),
	}),
	'fs/readBlock': episode => ({
		handleId: someHandle(episode),
		offset: episode.random.below(10),
		len: episode.random.below(5000),
	}),
	'fs/writeBlock': episode => ({
		handleId: someHandle(episode),
		offset: episode.random.below(10),
		chunk: someBytes(episode),
	}),
	'fs/close': episode => ({handleId: someHandle(episode)}),
	'fs/createDirectory': episode => ({path: someFile(episode), recursive: episode.random.chance(0.5)}),
	'fs/getMetadata': episode => ({path: someFile(episode), followSymlinks: episode.random.chance(0.5)}),
	'fs/canonicalize': episode => ({path: someFile(episode)}),
	'fs/readDirectory': episode => ({path: someFile(episode)}),
	'fs/walk': episode => ({
		path: someFile(episode),
		options: {maxDepth: 3, maxDirectories: 10, maxEntries: 100, followDirectorySymlinks: false},
	}),
	'fs/remove': episode => ({path: someFile(episode), recursive: true, force: episode.random.chance(0.5)}),
	'fs/copy': episode => ({sourcePath: someFile(episode), destinationPath: someFile(episode), recursive: false}),
	'fs/watchMissing': episode => ({watchId: episode.random.below(5), missing: [someFile(episode)], present: null}),
	// Never one that names anything: no request leaves the machine.
	'http/request': ({random}) => random.pick([undefined, {}, {method: 'GET'}, {requestId: '1', headers: []}]),
	...longarmParams({someProcess, someFile, someSandbox, someBytes, someHandle}),
};

/** A method that is new in the table is asked for with no params until it has its own here. */
export function paramsOf(method, episode) {
	return PARAMS[method] ? PARAMS[method](episode) : {};
}

/** Shared by all messages: whoever wants to change it makes a copy. */
function frozen(value) {
	if (typeof value !== 'object' || value === null) return value;
	for (const each of Object.values(value)) frozen(each);
	return Object.freeze(value);
}
