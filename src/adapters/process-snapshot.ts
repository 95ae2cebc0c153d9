import type {ManagedProcess} from '../processes/managed-process.js';
import type {Result} from '../protocol/methods/method-table.js';

/** Head and tail of every stream of a process, as `process/snapshot` answers. */
export function describeSnapshot({log, isAlive}: ManagedProcess): Result<'process/snapshot'> {
	const [stdout, stderr, terminal] = [log.view('stdout'), log.view('stderr'), log.view('pty')];
	return {
		stdout: stdout.bytes,
		stderr: stderr.bytes,
		terminal: terminal.bytes,
		truncated: [stdout, stderr, terminal].some(({omittedBytes}) => omittedBytes > 0),
		exitCode: log.exit?.exitCode ?? null,
		running: isAlive,
		reason: log.exit?.reason ?? null,
		totalBytes: {stdout: stdout.totalBytes, stderr: stderr.totalBytes, terminal: terminal.totalBytes},
		headBytes: {stdout: stdout.headBytes, stderr: stderr.headBytes, terminal: terminal.headBytes},
		omittedBytes: {stdout: stdout.omittedBytes, stderr: stderr.omittedBytes, terminal: terminal.omittedBytes},
	};
}
