import type {CopyProgress} from '../../../client/files/copy/copy-context.js';
import {headerField, headerLine} from '../answers/header-line.js';
import {groupDigits} from '../answers/output-excerpt.js';
import {type CallAnswer, textAnswer} from '../calls/tool-call.js';
import {defineTool} from './tool.js';

/** Failures of single entries in an answer. */
const MAX_NAMED_FAILURES = 20;

export const COPY_TOOL = defineTool({
	name: 'copy',
	description: 'Copy a file or directory between machines; again after an interruption resumes it.',
	groups: ['files'],
	mayWait: true,
	parameters: {
		from: {type: 'string', isRequired: true, about: 'MACHINE:PATH'},
		to: {type: 'string', isRequired: true, about: 'MACHINE:PATH'},
	},
	async run({from, to}, {machines}, call): Promise<CallAnswer> {
		const {copyFiles} = await import('../../../client/files/copy/copy-files.js');
		const [source, target] = await Promise.all([machines.locate(from), machines.locate(to)]);
		const abort = new AbortController();
		let last: CopyProgress | undefined;
		const stop = (): void => abort.abort(call.signal.reason);
		call.signal.addEventListener('abort', stop, {once: true});
		call.watch({
			name: `${source.machine.name}.copy`,
			isOwn: true,
			describe: async () => describeProgress(last),
			cancel: async () => abort.abort(new Error('the copy was cancelled')),
		});
		try {
			const onProgress = (progress: CopyProgress): void => {
				last = progress;
			};
			const {files, bytes, failed, failures} = await copyFiles(
				{from: source, to: target},
				{signal: abort.signal, onProgress},
			);
			const names = failures.slice(0, MAX_NAMED_FAILURES).map(({error}) => headerField(error.message));
			const header = headerLine([
				'copied',
				`${headerField(target.machine.name)}:${headerField(target.path)}`,
				`${groupDigits(files)} files`,
				`${groupDigits(bytes)} bytes`,
				failed > 0 ? `${groupDigits(failed)} failed` : undefined,
			]);
			const facts = {machine: target.machine.name, path: target.path, files, bytes, failed};
			return {...textAnswer(header, facts, ...names), isError: failed > 0};
		} finally {
			call.signal.removeEventListener('abort', stop);
		}
	},
});

function describeProgress(progress: CopyProgress | undefined): string {
	if (!progress) return 'copying';
	const {files, bytes, totalBytes} = progress;
	const total = totalBytes === undefined ? '' : ` of ${groupDigits(totalBytes)}`;
	return `${groupDigits(files)} files · ${groupDigits(bytes)}${total} bytes`;
}
