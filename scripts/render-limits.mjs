/** Folders of the source in the order a reader meets them, and what their bounds are about. */
const AREAS = {
	transports: 'Connections',
	protocol: 'Messages',
	rpc: 'Calls',
	server: 'Clients of a server',
	processes: 'Processes',
	filesystem: 'Files',
	network: 'HTTP and forwarded ports',
	sandbox: 'Sandboxes',
	client: 'The client',
	environments: 'Environments',
	'agent-tools': 'Tools of an agent',
	mcp: 'MCP',
	cli: 'The command line',
	shared: 'Everywhere',
};

/** `docs/limits.md`: every upper bound of the source that has a comment and a number. */
export function renderLimits(limits) {
	const told = limits.filter(({why, value}) => why !== undefined && value !== undefined);
	const sections = Object.entries(AREAS).flatMap(([folder, title]) => {
		const own = told.filter(({file}) => file.startsWith(`${folder}/`));
		return own.length === 0
			? []
			: [`## ${title}\n\n| limit | | in the source |\n|---|--:|---|\n${own.map(renderRow).join('\n')}`];
	});
	return `# Limits

Every wait, table and queue has an upper bound. These are fixed; those that can be set are in [settings.md](settings.md), and
what happens at the ones people meet is in [operations.md](operations.md). Generated from the constants of the source.

${sections.join('\n\n')}
`;
}

function renderRow({why, value, name, file}) {
	return `| ${why.replaceAll('|', '\\|')} | ${formatValue(name, value)} | \`${name}\`, \`${file}\` |`;
}

function formatValue(name, value) {
	if (/_BYTES(?:_|$)/.test(name))
		return withUnit(
			value,
			[
				[1024 ** 3, 'GiB'],
				[1024 ** 2, 'MiB'],
				[1024, 'KiB'],
			],
			'bytes',
		);
	if (/_MS(?:_|$)/.test(name))
		return withUnit(
			value,
			[
				[3_600_000, 'h'],
				[60_000, 'min'],
				[1000, 's'],
			],
			'ms',
		);
	return value.toLocaleString('en-US');
}

/** In the largest unit that leaves a whole number. */
function withUnit(value, units, smallest) {
	const [size, unit] = units.find(([each]) => value >= each && value % each === 0) ?? [1, smallest];
	return `${(value / size).toLocaleString('en-US')} ${unit}`;
}
