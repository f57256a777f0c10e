// For the type check only: what of the library the page uses.
export interface Viewport { width: number; height: number; scale: number }
export interface TextContent { items: { str?: string }[] }
export interface Rendering { promise: Promise<void>; cancel(): void }
export interface PdfPage {
  getViewport(options: { scale: number }): Viewport;
  render(options: { canvas: HTMLCanvasElement; viewport: Viewport; transform?: number[] }): Rendering;
  getTextContent(): Promise<TextContent>;
}
export interface Pdf { numPages: number; getPage(number: number): Promise<PdfPage> }
export interface Loading { promise: Promise<Pdf>; destroy(): Promise<void>; onPassword: (() => void) | null }
export const GlobalWorkerOptions: { workerSrc: string };
export function getDocument(options: { url: string; isEvalSupported?: boolean; enableXfa?: boolean }): Loading;
export class TextLayer {
  constructor(options: { textContentSource: TextContent; container: HTMLElement; viewport: Viewport });
  render(): Promise<void>;
  readonly textDivs: HTMLElement[];
  readonly textContentItemsStr: string[];
}
