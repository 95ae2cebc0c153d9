import {expect, test} from 'vitest';

const script = new URL('../../scripts/lib/portable-types.mjs', import.meta.url).href;
const {toPortableTypes} = (await import(script)) as {toPortableTypes: (text: string) => string};

test.each(['class A implements AsyncDisposable {}', 'interface A { [Symbol.dispose](): void }'])(
	'a declaration that disposes brings the library it needs: %s',
	text => {
		expect(toPortableTypes(text)).toBe(`/// <reference lib="esnext.disposable" />\n${text}`);
	},
);

test('bytes are spelled as compilers before TypeScript 5.7 know them', () => {
	expect(toPortableTypes('declare const a: Set<Uint8Array<ArrayBufferLike>>;')).toBe(
		'declare const a: Set<Uint8Array>;',
	);
});

test('other declarations stay as they are', () => {
	const text = 'declare const disposed: boolean;\n';
	expect(toPortableTypes(text)).toBe(text);
});
