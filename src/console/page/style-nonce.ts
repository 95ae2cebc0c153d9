/**
 * Gives every style element that a library makes the nonce of the page: the terminal writes its colours and sizes into such
 * elements, and the policy of the page allows no others. Colours of single characters it sets as an attribute, which the
 * policy forbids, and which means the same as setting the property, which a script may.
 */
export function allowMadeStyles(): void {
	const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
	const create = document.createElement.bind(document);
	document.createElement = (name: string, options?: ElementCreationOptions): HTMLElement => {
		const element = create(name, options);
		if (element instanceof HTMLStyleElement) element.nonce = nonce;
		return element;
	};
	const prototype = Element.prototype;
	const setAttribute: (this: Element, name: string, value: string) => void = Reflect.get(prototype, 'setAttribute');
	prototype.setAttribute = function setAttributeOrStyle(this: Element, name: string, value: string): void {
		if (name === 'style' && this instanceof HTMLElement) this.style.cssText = value;
		else setAttribute.call(this, name, value);
	};
}
