/** Compares texts by their characters, whatever the locale of the machine is. */
export function compareTexts(one, other) {
	if (one === other) return 0;
	return one < other ? -1 : 1;
}

export function sortKeys(object) {
	return Object.fromEntries(Object.entries(object).sort(([one], [other]) => compareTexts(one, other)));
}

/** Joins names in a stable order, as in `read | replace`. */
export function joinNames(names) {
	return [...names].sort(compareTexts).join(' | ');
}
