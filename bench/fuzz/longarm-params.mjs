/** Members of `process/start` that only this server knows. */
// biome-ignore format: a list to read, not one line each
export const LONGARM_STARTS = [
	{name: 'one'}, {name: ''}, {name: '../x'}, {labels: {a: 'b'}}, {acknowledged: true}, {record: {input: true}},
	{share: {observe: 'any'}}, {share: {observe: 'any', drive: 'any'}}, {spill: {}}, {spill: {maxBytes: 1}},
];

const someNumber = ({random}) => random.pick([undefined, null, 0, 1, 3, 50, 2 ** 53]);
const someName = ({random}) =>
	random.pick(['', 'a.txt', 'dir', 'b.txt', '..', '.', '%2e%2e', '%00', '*', 'x'.repeat(300)]);
const somePattern = ({random}) => random.pick(['', 'x', '(a*)*b', 'hello', '^(.+)+$', '(', '[', '\\', '\u{1f980}']);
const someId = ({random}) => `i${random.below(4)}`;
const flag = ({random}) => random.pick([undefined, null, true, false]);

/** Params of the methods that only this server has, from what the generator offers: processes, files, handles, bytes. */
export function longarmParams({someProcess, someFile, someSandbox, someBytes, someHandle}) {
	const process = episode => ({processId: someProcess(episode)});
	const tree = episode => ({handleId: someHandle(episode), path: someFile(episode), sandbox: someSandbox(episode)});
	return {
		'process/acknowledge': episode => ({...process(episode), seq: someNumber(episode) ?? 0}),
		'process/attach': episode => ({
			process: someProcess(episode),
			role: episode.random.pick([undefined, null, 'observe', 'drive']),
			afterSeq: someNumber(episode),
			takeover: flag(episode),
			size: episode.random.pick([undefined, null, {rows: 24, cols: 80}, {rows: 0, cols: 0}]),
		}),
		'process/detach': process,
		'process/waitFor': episode => ({
			...process(episode),
			exit: flag(episode),
			pattern: episode.random.chance(0.5) ? somePattern(episode) : undefined,
			port: episode.random.pick([undefined, null, 1]),
			silenceMs: someNumber(episode),
			input: flag(episode),
			afterSeq: someNumber(episode),
			timeoutMs: episode.random.pick([undefined, 0, 1, 50, 2 ** 40]),
		}),
		'process/screen': episode => ({
			...process(episode),
			atSeq: someNumber(episode),
			atMs: episode.random.pick([undefined, undefined, null, 0, -1, 1e13]),
			format: episode.random.pick([undefined, 'text', 'ansi']),
		}),
		'process/logs': episode => ({
			...process(episode),
			from: episode.random.pick([undefined, null, {seq: 1}, {byte: 3}, {ms: 1e12}, {tail: 2}, {tail: 2 ** 53}]),
			maxBytes: someNumber(episode),
			stream: episode.random.pick([undefined, null, 'stdout', 'stderr', 'pty']),
			grep: episode.random.chance(0.3) ? somePattern(episode) : undefined,
			waitMs: episode.random.pick([undefined, 0, 1, 50]),
			records: flag(episode),
		}),
		'process/share': episode => ({
			...process(episode),
			role: episode.random.pick([undefined, 'observe', 'drive']),
			forMs: someNumber(episode),
		}),
		'process/remove': process,
		'fs/rename': episode => ({
			sourcePath: someFile(episode),
			destinationPath: someFile(episode),
			overwrite: flag(episode),
			root: episode.random.pick([undefined, null, someFile(episode)]),
		}),
		'fs/pack': episode => ({...tree(episode), names: episode.random.pick([undefined, null, [], [someName(episode)]])}),
		'fs/unpack': episode => ({...tree(episode), overwrite: flag(episode), partial: flag(episode)}),
		'fs/finish': episode => ({
			handleId: someHandle(episode),
			sha256: episode.random.pick([undefined, null, '', '0'.repeat(64)]),
		}),
		'fs/list': episode => ({
			...tree(episode),
			depth: someNumber(episode),
			names: episode.random.pick([undefined, [someName(episode), someName(episode)]]),
			after: episode.random.pick([undefined, null, someName(episode)]),
		}),
		'fs/digest': episode => ({
			path: someFile(episode),
			offset: someNumber(episode) ?? 0,
			length: someNumber(episode) ?? 0,
		}),
		'fs/setAttributes': episode => ({
			path: someFile(episode),
			entries: [{name: someName(episode), mode: episode.random.pick([undefined, 0o644, 0o7777]), modifiedAtMs: 1e12}],
		}),
		'fs/watch': episode => ({
			watchId: someId(episode),
			path: someFile(episode),
			recursive: flag(episode),
			ignore: episode.random.pick([undefined, [], [somePattern(episode)]]),
		}),
		'fs/unwatch': episode => ({watchId: someId(episode)}),
		'fs/search': episode => ({
			searchId: someId(episode),
			path: someFile(episode),
			names: episode.random.pick([undefined, [], ['*.txt'], [somePattern(episode)]]),
			contents: episode.random.pick([
				undefined,
				null,
				{pattern: somePattern(episode), regex: flag(episode), ignoreCase: flag(episode)},
			]),
			hidden: flag(episode),
			ignoreFiles: flag(episode),
			maxMatches: someNumber(episode),
		}),
		'fs/searchCancel': episode => ({searchId: someId(episode)}),
		'http/cancel': episode => ({requestId: someId(episode)}),
		// Nothing listens on port 1, and `isHarmless` lets no other port through.
		'forward/open': episode => ({forwardId: someId(episode), port: episode.random.pick([1, 0, -1, 0.5])}),
		'forward/read': episode => ({forwardId: someId(episode), maxBytes: someNumber(episode)}),
		'forward/write': episode => ({forwardId: someId(episode), chunk: someBytes(episode), eof: flag(episode)}),
		'forward/close': episode => ({forwardId: someId(episode)}),
	};
}
