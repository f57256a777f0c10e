// For the type check only: what of the library the page uses.
declare const DOMPurify: {
  sanitize(dirty: string, options?: object): DocumentFragment;
  addHook(name: string, hook: (node: any) => void): void;
};
export default DOMPurify;
