// Renders docs/commands/ from the definitions of the commands. Pure: definitions go in, pages come out by name.

const NOTE = 'Generated from `src/cli/commands/` by `npm run docs`; a test keeps it true.';

/** Every page by its file name, the index among them. */
export function renderCommands(commands, sections) {
	return {
		'README.md': renderIndex(commands, sections),
		...Object.fromEntries(commands.map(command => [fileOf(command), renderCommand(command)])),
	};
}

function renderIndex(commands, sections) {
	const rows = sections.flatMap(({title, names}) => {
		const listed = names.flatMap(name => commands.filter(command => command.name.split(' ')[0] === name));
		if (listed.length === 0) return [];
		const table = listed.map(
			command => `| [\`longarm ${command.name}\`](${fileOf(command)}) | ${cell(command.summary)} |`,
		);
		return [`## ${title}`, '', '| command | what it does |', '| --- | --- |', ...table, ''];
	});
	return page([
		'# Commands',
		'',
		NOTE,
		'',
		'`longarm help COMMAND` says the same in a terminal. [Getting started](../getting-started.md) uses most of them.',
		'',
		...rows,
		'Errors go to stderr as `error:`, with a `hint:` below where something helps.',
	]);
}

function renderCommand(command) {
	const {name, summary, arguments: taken = [], options = [], details = [], exitCodes, examples} = command;
	return page([
		`# longarm ${name}`,
		'',
		NOTE,
		'',
		sentence(summary),
		'',
		'```',
		usageOf(command),
		'```',
		'',
		...(command.aliases ?? []).flatMap(alias => [`\`longarm ${alias}\` is the same.`, '']),
		...(taken.length > 0 ? ['| argument | what it is |', '| --- | --- |', ...taken.map(argumentRow), ''] : []),
		...(options.length > 0 ? ['| option | what it does |', '| --- | --- |', ...options.map(optionRow), ''] : []),
		...details.flatMap(paragraph => [escaped(paragraph), '']),
		'## Exit codes',
		'',
		'| code | meaning |',
		'| --- | --- |',
		...(exitCodes.some(([code]) => code === '0') ? [] : ['| 0 | success |']),
		...exitCodes.map(([code, meaning]) => `| ${code} | ${cell(meaning)} |`),
		'',
		'## Examples',
		'',
		'```sh',
		...examples.map(({command: line, says}) => (says === undefined ? line : `${line}  # ${says}`)),
		'```',
	]);
}

function usageOf({name, arguments: taken = [], options = [], passesThrough}) {
	const words = taken.map(argument => {
		const inside = argument.isRepeated ? `${argument.name}...` : argument.name;
		return argument.isOptional ? `[${inside}]` : inside;
	});
	return [
		'longarm',
		name,
		...(options.length > 0 ? ['[options]'] : []),
		...(passesThrough ? ['[--]'] : []),
		...words,
	].join(' ');
}

function argumentRow({name, help}) {
	return `| \`${cell(name)}\` | ${cell(help)} |`;
}

function optionRow({flags, help}) {
	return `| \`${cell(flags.replaceAll(/[<>]/g, ''))}\` | ${cell(help)} |`;
}

function fileOf({name}) {
	return `${name.replaceAll(' ', '-')}.md`;
}

function sentence(summary) {
	return `${summary[0].toUpperCase()}${summary.slice(1)}.`;
}

function cell(text) {
	return escaped(text).replaceAll('|', '\\|');
}

/** What would be taken for markup. */
function escaped(text) {
	return text.replaceAll(/[<*]/g, '\\$&');
}

function page(lines) {
	return `${lines.join('\n').trimEnd()}\n`;
}
