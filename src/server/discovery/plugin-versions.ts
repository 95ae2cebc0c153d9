const SEMANTIC_VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?(?:\+([\w.-]+))?$/;

/** Orders semantic versions as such, and all others as text. */
export function compareVersions(one: string, other: string): number {
	const [left, right] = [SEMANTIC_VERSION.exec(one), SEMANTIC_VERSION.exec(other)];
	if (!left || !right) return compareTexts(one, other);
	const numbers = compareIdentifiers(left.slice(1, 4), right.slice(1, 4));
	if (numbers !== 0) return numbers;
	// A version comes after its previews, and before its builds.
	if ((left[4] === undefined) !== (right[4] === undefined)) return left[4] === undefined ? 1 : -1;
	const previews = compareIdentifiers(left[4]?.split('.') ?? [], right[4]?.split('.') ?? []);
	return previews || compareIdentifiers(left[5]?.split('.') ?? [], right[5]?.split('.') ?? []);
}

function compareIdentifiers(left: readonly string[], right: readonly string[]): number {
	for (const [index, one] of left.entries()) {
		const other = right[index];
		if (other === undefined) return 1;
		const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
		if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
		const order = (isNumber && Number(one) - Number(other)) || compareTexts(one, other);
		if (order !== 0) return order;
	}
	return left.length - right.length;
}

function compareTexts(one: string, other: string): number {
	return one < other ? -1 : one > other ? 1 : 0;
}
