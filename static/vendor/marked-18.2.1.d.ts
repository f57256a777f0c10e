// For the type check only: what of the library the page uses.
export class Marked {
  constructor(options?: object);
  use(options: object): this;
  lexer(source: string): any;
  parser(tokens: any): string;
  parse(source: string): string;
}
