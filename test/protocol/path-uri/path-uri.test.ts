import {posix, win32} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import * as fc from 'fast-check';
import {afterEach, describe, expect, test, vi} from 'vitest';
import {type PathConvention, PathUri, PathUriError} from '../../../src/protocol/path-uri/path-uri.js';

const RealUrl = URL;
const OPAQUE = 'file:///%00/bad/path/';

afterEach(() => {
	vi.unstubAllGlobals();
});

const opaque = (bytes: string | Uint8Array) => OPAQUE + Buffer.from(bytes).toString('base64url');
const opaqueWindows = (path: string) => OPAQUE + Buffer.from(path, 'utf16le').toString('base64url');

/** Bytes of a path, with more separators, dots and drives than chance would give. */
const nativePath = fc
	.array(
		fc.oneof(
			fc
				.constantFrom('/', '//', '/.', '/..', '/./', '/../', '/C:', '/c|', '%', '%2F', '^', '~', '~1', '\\', 'a')
				.map(text => Buffer.from(text)),
			fc.uint8Array({min: 1, maxLength: 6}).map(bytes => Buffer.from(bytes)),
		),
		{maxLength: 8},
	)
	.map(parts => Buffer.concat([Buffer.from('/'), ...parts]));

describe('parsing', () => {
	test.each<[string, string, PathConvention]>([
		['file:///', 'file:///', 'posix'],
		['file:///srv/app', 'file:///srv/app', 'posix'],
		['file:/x', 'file:///x', 'posix'],
		['file:x', 'file:///x', 'posix'],
		['file:', 'file:///', 'posix'],
		['FILE:///x', 'file:///x', 'posix'],
		['file:////x', 'file:////x', 'posix'],
		['file:///a//b/', 'file:///a//b/', 'posix'],
		['file://localhost/x', 'file:///x', 'posix'],
		['file://LOCALHOST/x', 'file:///x', 'posix'],
		['file:///a/./b/../c', 'file:///a/c', 'posix'],
		['file:///a/%2e%2E/b', 'file:///b', 'posix'],
		['file:///../x', 'file:///x', 'posix'],
		['  file:///a\tb\n', 'file:///ab', 'posix'],
		['file:///a\\b', 'file:///a/b', 'posix'],
		['file:///a b"<>`{}é', 'file:///a%20b%22%3C%3E%60%7B%7D%C3%A9', 'posix'],
		['file:///a%ff%2f', 'file:///a%ff%2f', 'posix'],
		['file:///a^%5E~[]|', 'file:///a^%5E~[]|', 'posix'],
		['file:///%C:/x', 'file:///%C:/x', 'posix'],
		['file:///C%3A/x', 'file:///C%3A/x', 'posix'],
		['file:///CC:/x', 'file:///CC:/x', 'posix'],
		['file:///C:x', 'file:///C:x', 'posix'],
		['file:///a/C:/x', 'file:///a/C:/x', 'posix'],
		['file:///%2500', 'file:///%2500', 'posix'],
		['file:///C:/x', 'file:///C:/x', 'windows'],
		['file:///c:/x', 'file:///C:/x', 'windows'],
		['file:///c|/x', 'file:///C:/x', 'windows'],
		['file:c:/x', 'file:///C:/x', 'windows'],
		['file:///d:', 'file:///D:', 'windows'],
		['file:////c:/x', 'file:////C:/x', 'windows'],
		['file:///c:/../..', 'file:///C:/', 'windows'],
		['file://server/share/x', 'file://server/share/x', 'windows'],
		['file://Server/c:/x', 'file://server/c:/x', 'windows'],
		['file://server', 'file://server/', 'windows'],
	])('%j becomes %s, a path of %s', (text, href, convention) => {
		expect(PathUri.parse(text)).toEqual(expect.objectContaining({href, convention}));
	});

	test.each([
		['', 'invalid URI: relative URL without a base'],
		['x', 'invalid URI: relative URL without a base'],
		['./x', 'invalid URI: relative URL without a base'],
		['\\\\server\\share', 'invalid URI: relative URL without a base'],
		['http://localhost/x', 'unsupported path URI scheme `http`'],
		['HTTP://', 'unsupported path URI scheme `http`'],
		['data:,x', 'unsupported path URI scheme `data`'],
		['C:\\x', 'unsupported path URI scheme `c`'],
		['codex-env:///x?y', 'unsupported path URI scheme `codex-env`'],
		['file://user@host/x', 'credentials are not allowed in path URIs'],
		['file://user:secret@host:80/x', 'credentials are not allowed in path URIs'],
		['file://host:80/x', 'ports are not allowed in path URIs'],
		['file:///a?b', 'query parameters are not allowed in path URIs'],
		['file:///a?', 'query parameters are not allowed in path URIs'],
		['file:///a?b#c', 'query parameters are not allowed in path URIs'],
		['file:///a#b', 'fragments are not allowed in path URIs'],
		['file:///a#', 'fragments are not allowed in path URIs'],
		['file:///a#b?c', 'fragments are not allowed in path URIs'],
		['file:///a%00b', "'file:///a%00b' is invalid on 'linux'"],
		['file:///a\0b', "'file:///a%00b' is invalid on 'linux'"],
		['file:/x/../a%00b', "'file:///a%00b' is invalid on 'linux'"],
		['file:///%%00', "'file:///%%00' is invalid on 'linux'"],
		['file://host/%00', "'file://host/%00' is invalid on 'linux'"],
		['/a\0b', "'file:///a%00b' is invalid on 'linux'"],
		['file://a b/x', 'invalid URI: invalid host'],
	])('%j is refused: %s', (text, message) => {
		expect(() => PathUri.parse(text)).toThrow(new PathUriError(message));
	});

	test('an absolute native path stands for its URI', () => {
		expect(PathUri.parse('/srv//app/./a b?/').href).toBe('file:///srv/app/a%20b%3F');
		expect(PathUri.parse('//x').href).toBe('file:///x');
		expect(PathUri.parse('C:\\a b\\c', 'windows').href).toBe('file:///C:/a%20b/c');
		expect(PathUri.parse('c:/a', 'windows').href).toBe('file:///C:/a');
		expect(PathUri.parse('\\\\host\\share\\x', 'windows').href).toBe('file://host/share/x');
		expect(() => PathUri.parse('/srv', 'windows')).toThrow('invalid URI: relative URL without a base');
	});

	test('what was parsed once is parsed again without a change', () => {
		const pieces = fc.constantFrom(
			'file:',
			'FILE:',
			'/',
			'//',
			'///',
			'\\',
			'c:',
			'C|',
			'localhost',
			'h',
			'..',
			'.',
			'%2e',
			'%2F',
			'%00',
			'^',
			'~',
			'~0',
			'é',
			' ',
			'\t',
			'a',
			OPAQUE,
			'L0M6L3g',
		);
		fc.assert(
			fc.property(fc.array(pieces, {maxLength: 8}), parts => {
				const once = parsedOrRefused(parts.join(''));
				expect(once && PathUri.parse(once.href)).toEqual(once);
			}),
			{numRuns: 3000},
		);
	});

	test('a caret stays a caret where the URL parser encodes it', () => {
		const EncodingUrl = class {
			readonly protocol = 'file:';
			readonly href: string;
			constructor(text: string) {
				this.href = new RealUrl(text).href.replaceAll('^', '%5E');
			}
		};
		vi.stubGlobal('URL', EncodingUrl);
		const text = 'file:///~a^~1%5E^';
		expect(new URL(text).href).toBe('file:///~a%5E~1%5E%5E');
		expect(PathUri.parse(text).href).toBe(text);
	});
});

describe('POSIX paths', () => {
	test('any bytes but NUL come back, with slashes and dots resolved', () => {
		fc.assert(
			fc.property(nativePath, path => {
				const expected = posix.resolve('/', path.toString('latin1'));
				const {href} = PathUri.fromNative(path);
				expect(Buffer.from(PathUri.parse(href).toNativeBytes('linux')).toString('latin1')).toBe(expected);
				expect(PathUri.parse(href)).toEqual(PathUri.fromNative(path));
			}),
			{numRuns: 2000},
		);
	});

	test('any string comes back as Node would read it, and is encoded as Node can read it', () => {
		const name = fc.string({unit: 'grapheme', minLength: 1}).filter(text => !text.includes('\0'));
		fc.assert(
			fc.property(fc.array(name), names => {
				const path = `/top/${names.join('/')}`;
				const uri = PathUri.fromNative(path);
				expect(uri.toNativeString('linux')).toBe(posix.resolve(path));
				expect(fileURLToPath(uri.href)).toBe(posix.resolve(path));
				expect(PathUri.parse(pathToFileURL(path).href).toNativeString('linux')).toBe(posix.resolve(path));
			}),
		);
	});

	test('exactly the bytes of the protocol stay unencoded', () => {
		const kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$&'()*+,-.:;=@[]^_|~/";
		for (let byte = 1; byte < 256; byte++) {
			const symbol = String.fromCharCode(byte);
			const expected = kept.includes(symbol) ? symbol : `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`;
			expect(PathUri.fromNative(Uint8Array.of(0x2f, 0x78, byte, 0x78)).href).toBe(`file:///x${expected}x`);
		}
	});

	test.each([
		['file:///', '/'],
		['file://////', '/'],
		['file:////a///b//', '/a/b'],
		['file:///a%2Fb', '/a/b'],
		['file:///a%2F..%2Fb', '/b'],
		['file:///%2FC:/x', '/C:/x'],
		['file:///C%3A/x', '/C:/x'],
		['file:///a%2', '/a%2'],
		['file:///a%zz%25', '/a%zz%'],
		['file:///%EF%BB%BFa', '/\uFEFFa'],
		['file:///%F0%9F%A6%BE', '/\u{1F9BE}'],
	])('%s is %j', (text, path) => {
		const uri = PathUri.parse(text);
		expect(uri.toNativeString('linux')).toBe(path);
		expect(Buffer.from(uri.toNativeBytes('linux')).toString()).toBe(path);
	});

	test('a path that is not UTF-8 has bytes and no string', () => {
		const uri = PathUri.parse('file:///tmp/%ff%C3');
		expect([...uri.toNativeBytes('linux')]).toEqual([...Buffer.from('/tmp/\xff\xc3', 'latin1')]);
		expect(uri.toNativeString('linux')).toBeUndefined();
	});

	test.each(['file:///C:/x', 'file://host/share', opaqueWindows('\\\\.\\COM1')])(
		'%s is invalid where paths are POSIX',
		text => {
			const {href} = PathUri.parse(text);
			expect(() => PathUri.parse(text).toNativeBytes('linux')).toThrow(
				new PathUriError(`'${href}' is invalid on 'linux'`),
			);
			expect(() => PathUri.parse(text).toNativeString('macos')).toThrow(
				new PathUriError(`'${href}' is invalid on 'macos'`),
			);
		},
	);

	test.each([
		['', 'path is not absolute'],
		['a/b', 'path is not absolute'],
		['C:\\x', 'path is not absolute'],
		['/a\0', "'file:///a%00' is invalid on 'linux'"],
		['/\ud800', 'path is not valid Unicode'],
	])('%j has no URI: %s', (path, message) => {
		expect(() => PathUri.fromNative(path)).toThrow(new PathUriError(message));
	});
});

describe('the opaque form', () => {
	test.each(['/C:', '/C:/x', '/c:/x', '/z|/y', '/C:/\xff'])('%j has it, and comes back', path => {
		const bytes = Buffer.from(path, 'latin1');
		const uri = PathUri.fromNative(bytes);
		expect(uri).toEqual(expect.objectContaining({href: opaque(bytes), convention: 'posix'}));
		expect(PathUri.parse(uri.href)).toEqual(uri);
		expect(Buffer.from(PathUri.parse(uri.href).toNativeBytes('linux'))).toEqual(bytes);
	});

	test.each(['/CC:/x', '/C:x', '/a/C:', '/:', '/1:/x'])('%s has a plain form', path => {
		expect(PathUri.fromNative(path).href).toBe(`file://${path}`);
	});

	test.each([
		OPAQUE,
		`${OPAQUE}YQ`,
		`${OPAQUE}YQ==`,
		`${OPAQUE}YR`,
		`${OPAQUE}not*base64`,
		`${opaque('/C:/x')}/extra`,
		`${opaque('/C:/x')}==`,
		opaque('/plain'),
		opaque('/C:/x/'),
		opaque('/C:/a/../x'),
		opaque('/C:/\0'),
		opaque('C:/x'),
		opaqueWindows('C:\\plain'),
		opaqueWindows('\\\\host\\share'),
		opaqueWindows('relative'),
		opaque(Buffer.from([...Buffer.from('\\\\.\\COM1', 'utf16le'), 1])),
		'file:///%00/bad/paths/YQ',
		'file:///%00/other/YQ',
	])('%s is invalid', text => {
		expect(() => PathUri.parse(text)).toThrow(new PathUriError(`'${text}' is invalid on 'linux'`));
		expect(() => PathUri.parse(text, 'windows')).toThrow(new PathUriError(`'${text}' is invalid on 'windows'`));
	});
});

describe('Windows paths', () => {
	test.each([
		['C:\\', 'file:///C:/'],
		['c:\\a\\..\\..\\b\\.\\c\\', 'file:///C:/b/c'],
		['C:/a b/100%/é', 'file:///C:/a%20b/100%25/%C3%A9'],
		['\\\\Host\\Share\\a\\..\\..\\b', 'file://host/Share/b'],
		['\\\\host\\share', 'file://host/share'],
	])('%s is %s', (path, href) => {
		expect(PathUri.fromNative(path, 'windows')).toEqual(expect.objectContaining({href, convention: 'windows'}));
		expect(PathUri.parse(path, 'windows').href).toBe(href);
		expect(PathUri.fromNative(Buffer.from(path, 'utf16le'), 'windows').href).toBe(href);
	});

	test.each([
		'\\\\.\\COM1',
		'\\\\?\\C:\\x',
		'\\\\localhost\\share',
		'\\\\127.1\\share',
		'\\\\a b\\share',
		'\\\\host',
		'\\\\host\\..\\x',
		'\\\\host\\C:\\x',
		'C:\\\ud800',
	])('%j has the opaque form, and comes back', path => {
		const uri = PathUri.fromNative(path, 'windows');
		expect(uri).toEqual(expect.objectContaining({href: opaqueWindows(path), convention: 'windows'}));
		expect(PathUri.parse(uri.href)).toEqual(uri);
		expect(uri.toWindowsPath()).toBe(path);
	});

	test('the names of upstream for the opaque form are the same', () => {
		expect(PathUri.fromNative('\\\\.\\COM1\\', 'windows').href).toBe(`${OPAQUE}XABcAC4AXABDAE8ATQAxAFwA`);
	});

	test('any path comes back as Node would read it', () => {
		const name = fc.string({unit: 'grapheme', minLength: 1}).filter(text => !/[\0\\/]/.test(text));
		fc.assert(
			fc.property(fc.constantFrom('C:\\', 'D:/', '\\\\host\\share\\'), fc.array(name), (root, names) => {
				const path = root + names.join('\\');
				const uri = PathUri.fromNative(path, 'windows');
				const expected = win32.normalize(path).replace(/(?<=[^:\\])\\$/, '');
				expect(PathUri.parse(uri.href)).toEqual(uri);
				expect(uri.toWindowsPath()).toBe(expected);
				expect(fileURLToPath(uri.href, {windows: true}).replace(/(?<=[^:\\])\\$/, '')).toBe(expected);
			}),
			{numRuns: 500},
		);
	});

	test.each([
		['file:////C://a%5C..%2Fb/', 'C:\\b'],
		['file:///C:', 'C:\\'],
		['file://host/share/', '\\\\host\\share'],
	])('%s is %s', (text, path) => {
		expect(PathUri.parse(text).toWindowsPath()).toBe(path);
	});

	test.each(['file:///a', 'file://host/', 'file:///C:/%ff', opaque('/C:/x')])('%s names no Windows path', text => {
		expect(() => PathUri.parse(text).toWindowsPath()).toThrow(new PathUriError(`'${text}' is invalid on 'windows'`));
	});

	test.each([
		['a\\b', 'path is not absolute'],
		['C:a', 'path is not absolute'],
		['/a', 'path is not absolute'],
		['C:\\a\0', "'C:\\a%00' is invalid on 'windows'"],
	])('%j has no URI: %s', (path, message) => {
		expect(() => PathUri.fromNative(path, 'windows')).toThrow(new PathUriError(message));
	});
});

describe('a child', () => {
	const name = fc.uint8Array({minLength: 1, maxLength: 8}).filter(bytes => !bytes.includes(0) && !bytes.includes(0x2f));

	test.each([
		['/', 'etc', 'file:///etc'],
		['/a b', 'c%', 'file:///a%20b/c%25'],
		['/', 'caf\u00c3\u00a9', 'file:///caf%C3%A9'],
	])('of %s called %s is %s', (directory, child, href) => {
		expect(PathUri.fromNative(directory).child(child).href).toBe(href);
	});

	test('is named as its whole path would be, below the root and below directories that are not UTF-8, too', () => {
		const directories = fc.array(name, {maxLength: 3}).map(names => `/${names.map(binary).join('/')}`);
		fc.assert(
			fc.property(directories, name, (directory, bytes) => {
				const child = binary(bytes);
				fc.pre(![directory, child].some(text => text.split('/').some(part => part === '.' || part === '..')));
				const whole = PathUri.fromBinary(directory === '/' ? `/${child}` : `${directory}/${child}`);
				expect(PathUri.fromBinary(directory).child(child)).toEqual(whole);
			}),
			{
				numRuns: 500,
				examples: [
					['/', Uint8Array.of(0xff)],
					['/\xff', Uint8Array.of(0x61)],
				],
			},
		);
	});
});

function binary(bytes: Uint8Array): string {
	return Buffer.from(bytes).toString('latin1');
}

function parsedOrRefused(text: string): PathUri | undefined {
	try {
		return PathUri.parse(text);
	} catch (error) {
		if (error instanceof PathUriError) return undefined;
		throw error;
	}
}

const PLAIN_PIECES = ['a', 'B7', '_', '-', '.a', 'a.', '...', '+', '=', '@', ',', '~'];
const OTHER_PIECES = [
	'.',
	'..',
	'C:',
	'c|',
	'%2e',
	'%41',
	'%2F',
	'%00',
	'^',
	'?',
	'#',
	' ',
	'\n',
	'\\',
	'\u00e9',
	':',
	';',
	'&',
	"'",
	'',
	'/',
];

/** Written like this a URI is parsed the long way, to the same normal form. */
function theLongWay(text: string): string {
	return `FILE${text.slice('file'.length)}`;
}

describe('a plain URI', () => {
	const piece = fc.constantFrom(...PLAIN_PIECES, ...OTHER_PIECES);
	const uri = fc
		.tuple(
			fc.constantFrom('file:///', 'file:///', 'file:///', 'file://', 'file:/', 'file://localhost/'),
			fc.array(piece),
		)
		.chain(([start, pieces]) => fc.constantFrom(start + pieces.join('/'), start + pieces.join('')));

	test('is read the same whichever way it is parsed', () => {
		fc.assert(
			fc.property(uri, text => {
				expect(describeUri(parsedOrRefused(text))).toEqual(describeUri(parsedOrRefused(theLongWay(text))));
			}),
			{numRuns: 3000},
		);
	});
});

function describeUri(uri: PathUri | undefined): unknown {
	const path = uri?.convention === 'posix' ? uri.toBinary('linux') : undefined;
	return {href: uri?.href, convention: uri?.convention, path};
}
