/** Edits between two names that may be a slip of the fingers. */
const MAX_EDITS = 2;
/** Longer names are not compared: the work grows with the square. */
const MAX_NAME_CHARACTERS = 64;

/** The name that was probably meant; undefined if none is near. */
export function findClosestName(given: string, names: readonly string[]): string | undefined {
	if (given.length > MAX_NAME_CHARACTERS) return undefined;
	let closest: string | undefined;
	let fewest = Math.min(MAX_EDITS, Math.ceil(given.length / 2) - 1) + 1;
	for (const name of names) {
		if (name.length > MAX_NAME_CHARACTERS) continue;
		const edits = countEdits(given.toLowerCase(), name.toLowerCase());
		if (edits >= fewest) continue;
		fewest = edits;
		closest = name;
	}
	return closest;
}

/** ` did you mean X?`, to stand behind a semicolon; empty if no name is near. */
export function suggestName(given: string, names: readonly string[]): string {
	const closest = findClosestName(given, names);
	return closest === undefined ? '' : ` did you mean \`${closest}\`?`;
}

/** Characters to insert, remove or replace, or neighbours to exchange. */
function countEdits(one: string, other: string): number {
	const rows: number[][] = [Array.from({length: other.length + 1}, (_cell, at) => at)];
	for (let i = 1; i <= one.length; i++) {
		const row = [i];
		for (let j = 1; j <= other.length; j++) {
			const isSame = one[i - 1] === other[j - 1];
			let edits = Math.min(row[j - 1]! + 1, rows[i - 1]![j]! + 1, rows[i - 1]![j - 1]! + (isSame ? 0 : 1));
			const isExchanged = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
			if (isExchanged) edits = Math.min(edits, rows[i - 2]![j - 2]! + 1);
			row.push(edits);
		}
		rows.push(row);
	}
	return rows[one.length]![other.length]!;
}
