// Reads the public names of the package from its built declarations, with the compiler's own interface.
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {SyntaxKind} from 'typescript/unstable/ast';
import {API, NodeBuilderFlags, SymbolFlags} from 'typescript/unstable/sync';
import {toPortableTypes} from './portable-types.mjs';
import {scratchFolder} from './scratch-folder.mjs';

/** An alias that is computed from another type or value: it says nothing, its members do. */
const COMPUTED_ALIAS =
	/^type \w+ = (?:keyof|\(typeof|Omit<|Partial<|NonNullable<|v\.Infer|(?:Params|Result)(?:OnWire)?<)/;
const EXPANDED =
	NodeBuilderFlags.InTypeAlias | NodeBuilderFlags.NoTruncation | NodeBuilderFlags.MultilineObjectLiterals;
const PRIVATE_MEMBER = /^\s+(?:#private|private (?:static )?(?:readonly )?\w+);$/;

/**
 * The names of each entry, and types that these name without being exported:
 * `{entries: [{entry, names: [{name, kind, doc, text}]}], unexported: [{name, kind, doc, text}]}`.
 */
export function readPublicApi(root) {
	const {exports} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
	const targets = Object.entries(exports).filter(([, target]) => target.types !== undefined);
	const files = targets.map(([, {types}]) => join(root, types));
	const api = new API({cwd: root});
	try {
		const {program, checker} = openProject(api, files);
		const reader = new DeclarationReader(checker, join(root, 'dist/'));
		const entries = targets.map(([path], index) => {
			const module = checker.getSymbolAtLocation(program.getSourceFile(files[index]));
			const symbols = checker.getExportsOfModule(module);
			return {entry: path.replace('.', 'longarm'), names: symbols.map(symbol => reader.read(symbol))};
		});
		return {entries, unexported: reader.readReferences()};
	} finally {
		api.close();
	}
}

/** A project of its own, so that nothing but the declarations is loaded. */
function openProject(api, files) {
	const config = join(scratchFolder('api'), 'tsconfig.json');
	const compilerOptions = {module: 'nodenext', target: 'es2022', types: [], noEmit: true};
	writeFileSync(config, JSON.stringify({compilerOptions, files}));
	return api.updateSnapshot({openProjects: [config]}).getProject(config);
}

class DeclarationReader {
	#checker;
	#folder;
	#read = new Map();
	#references = new Map();

	constructor(checker, folder) {
		this.#checker = checker;
		this.#folder = folder;
	}

	read(symbol) {
		const target = this.#resolve(symbol);
		const known = this.#read.get(target.id);
		if (known) return known;
		const nodes = target.declarations.map(handle => handle.resolve());
		for (const node of nodes) this.#collectReferences(node);
		const declaration = {
			name: symbol.name,
			kind: kindOf(nodes[0]),
			doc: this.#checker.getDocumentationCommentOfSymbol(target).trim(),
			text: nodes.map(node => this.#textOf(node, target)).join('\n'),
		};
		this.#read.set(target.id, declaration);
		return declaration;
	}

	/** Types of the package that the declarations read so far name, and that were not read themselves. */
	readReferences() {
		const unread = [...this.#references].filter(([id]) => !this.#read.has(id));
		return unread.map(([, symbol]) => this.read(symbol)).sort((one, other) => (one.name < other.name ? -1 : 1));
	}

	#resolve(symbol) {
		return symbol.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
	}

	#textOf(node, symbol) {
		const text = textOf(node);
		if (!COMPUTED_ALIAS.test(text)) return text;
		const type = this.#checker.getDeclaredTypeOfSymbol(symbol);
		const members = toPortableTypes(this.#checker.typeToString(type, undefined, EXPANDED));
		return `type ${symbol.name} = ${withTabs(members)};`;
	}

	#collectReferences(node) {
		const names = [];
		const visit = child => {
			if (child.kind === SyntaxKind.TypeReference) names.push(child.typeName);
			if (child.kind === SyntaxKind.ExpressionWithTypeArguments) names.push(child.expression);
			child.forEachChild(visit);
		};
		visit(node);
		for (const symbol of names.length === 0 ? [] : this.#checker.getSymbolAtLocation(names)) {
			if (!symbol || symbol.flags & SymbolFlags.TypeParameter) continue;
			const target = this.#resolve(symbol);
			if (target.declarations[0]?.path.startsWith(this.#folder)) this.#references.set(target.id, target);
		}
	}
}

function kindOf({kind}) {
	if (kind === SyntaxKind.FunctionDeclaration) return 'function';
	if (kind === SyntaxKind.ClassDeclaration) return 'class';
	return kind === SyntaxKind.VariableDeclaration ? 'constant' : 'type';
}

/** The declaration as the compiler wrote it, without what concerns modules and private members. */
function textOf(node) {
	const statement = node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node;
	const lines = statement
		.getText()
		.replace(/^(?:export )?(?:declare )?/, '')
		.split('\n');
	return withTabs(lines.filter(line => !PRIVATE_MEMBER.test(line)).join('\n'));
}

function withTabs(text) {
	return text.replace(/^(?: {4})+/gm, spaces => '\t'.repeat(spaces.length / 4));
}
