import {expect, test} from 'vitest';

type Draw = (screen: string, options: {columns: number; title: string}) => string;

/** The script is plain JavaScript and has no types. */
const {terminalSvg} = (await import(new URL('../../scripts/lib/terminal-svg.mjs', import.meta.url).href)) as {
	terminalSvg: Draw;
};

const ESC = '\u001B';
const words = (svg: string): [string, string][] =>
	[...svg.matchAll(/<tspan x="[\d.]+"([^>]*)>([^<]*)<\/tspan>/g)].map(match => [match[2]!, match[1]!.trim()]);

test('a picture has the words of the screen in their colours and columns', () => {
	const svg = terminalSvg(
		`${ESC}[32m$${ESC}[39m ls <a> & b\n\n${ESC}[1;38;5;196mred   wine${ESC}[0m  ${ESC}[7mturned${ESC}[27m`,
		{
			columns: 40,
			title: 'a "title"',
		},
	);
	expect(words(svg)).toEqual([
		['$', 'fill="#98c379"'],
		['ls &lt;a&gt; &amp; b', ''],
		['red', 'fill="#ff0000" font-weight="bold"'],
		['wine', 'fill="#ff0000" font-weight="bold"'],
		['turned', 'fill="#1b1f27"'],
	]);
	expect(svg).toContain('a &quot;title&quot;');
	const [first, second] = [...svg.matchAll(/<tspan x="([\d.]+)"/g)].map(match => Number(match[1]));
	// Two columns further on.
	expect(second! - first!).toBeCloseTo(16.8);
	expect([...svg.matchAll(/<text y="(\d+)"/g)].map(match => match[1])).toEqual(['50', '90']);
});

test('a colour goes on until it is changed, on the next line too', () => {
	const svg = terminalSvg(`${ESC}[31mone\ntwo${ESC}[0m\n${ESC}[48;2;1;2;3mthree`, {columns: 10, title: 't'});
	expect(words(svg)).toEqual([
		['one', 'fill="#e06c75"'],
		['two', 'fill="#e06c75"'],
		['three', ''],
	]);
	expect(svg).toContain('width="42" height="20" fill="#010203"');
});
