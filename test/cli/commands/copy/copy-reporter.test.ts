import {expect, onTestFinished, test, vi} from 'vitest';
import {CopyReporter} from '../../../../src/cli/commands/copy/copy-reporter.js';
import {FileError} from '../../../../src/client/files/file-error.js';
import {Environment} from '../../../../src/environments/environment.js';
import {PathUri} from '../../../../src/protocol/path-uri/path-uri.js';

/** A reporter that knows a path of this machine and one of another, and everything it wrote to stderr. */
function working({quiet = false} = {}) {
	const lines: string[] = [];
	const write = vi.spyOn(process.stderr, 'write').mockImplementation(text => lines.push(String(text)) > 0);
	onTestFinished(() => write.mockRestore());
	const [local, remote] = [
		Environment.local(),
		Environment.remote('build\u001B', {kind: 'websocket', url: 'ws://127.0.0.1:1'}),
	].map(environment => {
		onTestFinished(() => environment.close());
		return {environment, files: environment.files, path: PathUri.parse('file:///srv/%FF')};
	});
	const reporter = new CopyReporter({json: false, quiet, progress: true});
	reporter.learnEnvironments([local!, remote!]);
	return {lines, reporter, local: local!, remote: remote!};
}

const LOST = new FileError('disconnected', 'transport closed (os error 104)', {path: '/srv'});

test('a failure is a line with the location as one writes it, and the reason', () => {
	const {lines, reporter, local, remote} = working();
	reporter.onFailure({location: local, error: LOST});
	reporter.onFailure({location: remote, error: LOST});
	reporter.onFailure({location: {...local, path: '/srv/a'}, error: LOST});
	expect(lines).toEqual([
		'error: /srv/\\xff: transport closed\n',
		'error: build\\x1b:/srv/\\xff: transport closed\n',
		'error: /srv/a: transport closed\n',
	]);
});

test('a notice is written once, and not at all with --quiet', () => {
	const {lines, reporter, remote} = working();
	for (let times = 0; times < 2; times++) {
		reporter.onRetry(LOST);
		reporter.onFallback(remote);
	}
	expect(lines).toEqual([
		'note: the connection was lost (transport closed); going on where it stopped\n',
		'note: build\\x1b cannot resume copies or keep modes; what is interrupted starts again\n',
	]);
	const silent = working({quiet: true});
	silent.reporter.onRetry(LOST);
	silent.reporter.onFallback(silent.remote);
	expect(silent.lines).toEqual([]);
});

test('nothing is counted where no progress line is shown', () => {
	expect(working({quiet: true}).reporter.onProgress).toBe(undefined);
});
