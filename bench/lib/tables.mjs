/** A markdown table: the names of its columns, `l` or `r` for how each is aligned, and rows of as many cells. */
export function markdownTable(columns, alignment, rows) {
	const rule = [...alignment].map(side => (side === 'r' ? '--:' : '---'));
	return [line(columns), `|${rule.join('|')}|`, ...rows.map(line)].join('\n');
}

function line(cells) {
	return `| ${cells.join(' | ')} |`;
}

/** Makes result rows of one scenario: `row(what, value, kept)`, which is kept unless told otherwise. */
export function rowsOf(scenario) {
	return (what, value, kept = true) => [scenario, what, value, kept];
}

/** Prints result rows (`[scenario, what, value, kept]`) as a table; whether every promise was kept. */
export function printResults(rows) {
	const cells = rows.map(([scenario, what, value, kept]) => [scenario, what, value, kept ? 'yes' : '**NO**']);
	console.log(`\n${markdownTable(['scenario', 'what', 'value', 'kept'], 'llrl', cells)}`);
	return rows.every(([, , , kept]) => kept);
}

/** Prints result rows and ends the program: exit code 1 when a promise was broken. */
export function finish(rows) {
	process.exit(printResults(rows) ? 0 : 1);
}
