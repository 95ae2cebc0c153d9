import type {Files, Match, SearchOutcome} from '../../../client/files/files.js';
import {headerField, headerLine, plainName} from '../answers/header-line.js';
import {plainText} from '../answers/plain-text.js';
import {textAnswer} from '../calls/tool-call.js';
import {answerSize, defineTool} from './tool.js';

const DEFAULT_MATCHES = 200;
const MAX_MATCHES = 5000;
const LINE_CHARACTERS = 240;

export const FIND_TOOL = defineTool({
	name: 'find',
	description: 'Find files by name (globs) or lines by text (regex) below a directory; respects .gitignore.',
	groups: ['files'],
	isReadOnly: true,
	mayWait: true,
	parameters: {
		path: {type: 'string', isRequired: true, about: 'MACHINE:PATH'},
		name: {type: 'string', about: 'such as *.ts'},
		text: {type: 'string'},
		max: {type: 'integer', min: 1, max: MAX_MATCHES},
	},
	async run({path: given, name, text, max = DEFAULT_MATCHES}, context, {signal}) {
		if (name === undefined && text === undefined) throw new TypeError('give a name, a text, or both');
		const {machine, path, files} = await context.machines.locate(given);
		if (!(await files.supports('search'))) throw new Error(`${machine.name} cannot search; use exec with find or grep`);
		const search = files.search(
			{
				path,
				ignoreFiles: true,
				maxMatches: max,
				...(name !== undefined && {names: [name]}),
				...(text !== undefined && {contents: {pattern: text, regex: true}}),
			},
			{signal},
		);
		const {lines, isCut} = await collect(search, path, answerSize(undefined, context));
		const outcome = isCut ? undefined : await search.outcome;
		const header = headerLine([
			headerField(machine.name),
			headerField(path),
			`${lines.length} matches`,
			describeLimits(isCut, outcome),
		]);
		const isPartial = isCut || outcome?.truncated === true;
		return textAnswer(header, {machine: machine.name, path, matches: lines.length, is_partial: isPartial}, ...lines);
	},
});

/** Matches as lines, as many as fit an answer. */
async function collect(
	search: ReturnType<Files['search']>,
	root: string,
	maxChars: number,
): Promise<{lines: string[]; isCut: boolean}> {
	const lines: string[] = [];
	let size = 0;
	for await (const match of search) {
		const line = describeMatch(match, root);
		size += line.length + 1;
		if (size > maxChars) return {lines, isCut: true};
		lines.push(line);
	}
	return {lines, isCut: false};
}

function describeMatch(match: Match, root: string): string {
	const {nativePath, path} = match;
	const full = nativePath ?? path;
	const prefix = root.endsWith('/') ? root : `${root}/`;
	const name = plainName(full.startsWith(prefix) ? full.slice(prefix.length) : full);
	if (match.line === undefined || match.line === null) return name;
	const text = plainText(match.text ?? '').trim();
	return `${name}:${match.line}: ${text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS)}…` : text}`;
}

function describeLimits(isCut: boolean, outcome: SearchOutcome | undefined): string | undefined {
	if (isCut) return 'more left out: search for less';
	return outcome?.truncated ? 'more left out: raise max or search for less' : undefined;
}
