// Renders the reference of the package's names for docs/. Pure: declarations go in, text comes out.

/** Longest declaration that is shown whole; longer ones are tables with a page of their own. */
const MAX_SHOWN_LINES = 150;

const ENTRIES = {
	longarm: 'For programs on Node: environments, the server, and everything of `longarm/client`.',
	'longarm/client': 'For programs on Node and in a browser: sessions, processes, files, HTTP, ports.',
	'longarm/agent-tools': '`exec_command` and `write_stdin` for a model, on Node and in a browser.',
	'longarm/agent-loop': 'Agents: a client of the Responses API, workers of jobs, and how turns end.',
	'longarm/jobs': 'Fan-out jobs: one piece of work for every row, durable and resumable.',
	'longarm/mcp': 'MCP servers on any machine, below the client of the MCP SDK.',
	'longarm/server': 'The server inside a program of your own, and who may connect to it.',
	'longarm/protocol': 'The wire: methods, schemas, error codes; no input and output.',
};

const KINDS = [
	['class', 'Classes'],
	['function', 'Functions'],
	['constant', 'Constants'],
	['type', 'Types'],
];

/** Takes what `readPublicApi` gives. */
export function renderApi({entries, unexported}) {
	const missing = entries.filter(({entry}) => !(entry in ENTRIES));
	if (missing.length > 0) throw new Error(`no description of ${missing.map(({entry}) => entry).join(', ')}`);
	return [
		'# API',
		'',
		'Generated from the declarations of the build by `npm run docs`; a test keeps it true.',
		'',
		'`longarm` is an ES module with types: `import` it, or `require` it (Node 20.19 and newer can). Programs for Node need',
		'`@types/node`; `longarm/client`, `longarm/agent-tools` and `longarm/protocol` need `lib: ["es2022", "dom"]` and nothing else.',
		'A name that several entries export is described once, under the smallest of them.',
		'',
		'| entry | what it is for | names |',
		'|---|---|---|',
		...entries.map(({entry, names}) => `| [\`${entry}\`](#${anchorOf(entry)}) | ${ENTRIES[entry]} | ${names.length} |`),
		'',
		...entries.flatMap(each => renderEntry(each, entries)),
		...renderUnexported(unexported),
	].join('\n');
}

function renderEntry({entry, names}, entries) {
	const own = names.filter(declaration => homeOf(declaration, entries) === entry);
	const others = [...new Set(names.map(declaration => homeOf(declaration, entries)))].filter(home => home !== entry);
	const lines = [`## \`${entry}\``, '', ENTRIES[entry], ''];
	for (const home of others) {
		const shared = names.filter(declaration => homeOf(declaration, entries) === home);
		lines.push(`Exported here too, from [\`${home}\`](#${anchorOf(home)}): ${shared.map(linkOf).join(', ')}.`, '');
	}
	for (const [kind, title] of KINDS) {
		const declarations = own.filter(declaration => declaration.kind === kind).sort(byName);
		if (declarations.length > 0)
			lines.push(`### ${title} of \`${entry}\``, '', ...declarations.flatMap(renderDeclaration));
	}
	return lines;
}

function renderUnexported(declarations) {
	if (declarations.length === 0) return [];
	return [
		'## Types that are named above',
		'',
		'They are not exported. A program that has to name one gets it from a name that uses it: `Parameters<typeof f>[0]`.',
		'',
		...declarations.flatMap(renderDeclaration),
	];
}

/** The entry with the fewest names that exports it. */
function homeOf(declaration, entries) {
	const holders = entries.filter(({names}) => names.includes(declaration));
	return holders.sort((one, other) => one.names.length - other.names.length)[0].entry;
}

function renderDeclaration({name, doc, text}) {
	const lines = text.split('\n');
	const shown =
		lines.length > MAX_SHOWN_LINES ? `${lines[0]} /* … ${lines.length - 2} lines … */ ${lines.at(-1)}` : text;
	return [`#### ${name}`, '', ...(doc === '' ? [] : [doc, '']), '```ts', shown, '```', ''];
}

function linkOf({name}) {
	return `[\`${name}\`](#${anchorOf(name)})`;
}

/** The anchor that a renderer of Markdown makes of a heading. */
function anchorOf(heading) {
	return heading.toLowerCase().replace(/[^\w-]/g, '');
}

function byName(one, other) {
	return one.name < other.name ? -1 : 1;
}
