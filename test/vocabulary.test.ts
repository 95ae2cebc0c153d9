import {readdirSync, readFileSync} from 'node:fs';
import {expect, test} from 'vitest';

const source = new URL('../src/', import.meta.url);
const lines = readdirSync(source, {recursive: true, encoding: 'utf8'})
	.filter(file => file.endsWith('.ts'))
	.flatMap(file =>
		readFileSync(new URL(file, source), 'utf8')
			.split('\n')
			.map((text, index) => ({place: `${file}:${index + 1}`, text})),
	);

function matching(pattern: RegExp): string[] {
	return lines.filter(({text}) => pattern.test(text)).map(({place, text}) => `${place} ${text.trim()}`);
}

test('a comment begins with the noun of the field, not with a pronoun for it', () => {
	expect(matching(/^\s*(?:\/\*\*|\/\/|\*) (?:What|Whoever|Nobody|Those|Somebody)\b/)).toEqual([]);
});

test('every upper bound is called MAX and every lower bound MIN', () => {
	expect(matching(/\bconst (?:MOST|LARGEST|LONGEST|WIDEST|DEEPEST|SMALLEST|FEWEST|SHORTEST)_/)).toEqual([]);
});

test('whether something is closed is called isClosed', () => {
	expect(matching(/#(?:over|ended|isOver|hasEnded|closed) = false/)).toEqual([]);
});
