/** Where a passage stands in a page of a PDF, whose text comes in pieces with line ends and hyphens of its own. */

const LEAST = 9;
const PIECE = 30;
/** Letters after what was found last within which a short cell is of the same row. */
const NEAR = 120;

/** Letters and digits only: what the page and the text that was read of it have in common. */
const letters = (text) => text.normalize("NFKD").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");

/** Of each letter of the page the piece it is from. */
function lettersOf(pieces) {
  let all = "";
  const from = [];
  pieces.forEach((piece, index) => {
    const own = letters(piece);
    all += own;
    for (let place = 0; place < own.length; place++) from.push(index);
  });
  return { all, from };
}

const cut = (text) => text.match(new RegExp(`.{${LEAST},${PIECE}}`, "gu")) ?? [];

/** Rows of tables are read as "Head: cell; Head: Group › cell". */
const cells = (line) => line.split(/;\s|\|/).map((cell) => letters(cell.replace(/^[^:]{1,90}:\s/, "").replace(/^.*\s›\s/, "")));

function onlyPlaceOf(short, all) {
  const place = all.indexOf(short);
  return short && place >= 0 && place === all.lastIndexOf(short) ? [place, place + short.length] : null;
}

/** Whole where it stands so; else by its lines and cells, and those by short pieces: a page ends where it likes. */
function* rangesOf(passage, all) {
  let after = 0;
  const find = (wanted) => {
    let place = wanted ? all.indexOf(wanted, after) : -1;
    if (wanted.length < LEAST) {
      if (!after || place < 0 || place > after + NEAR) return null;
    } else if (place < 0) place = all.indexOf(wanted);
    if (place < 0) return null;
    after = place + wanted.length;
    return [place, after];
  };
  const whole = letters(passage);
  const found = whole.length < LEAST ? onlyPlaceOf(whole, all) : find(whole);
  if (found) return yield found;
  for (const line of passage.split("\n")) {
    const row = cells(line);
    const range = find(letters(line)) ?? find(row.join(""));
    if (range) yield range;
    else for (const cell of row) yield* piecesOf(cell, find);
  }
}

function* piecesOf(cell, find) {
  const range = find(cell);
  if (range) yield range;
  else for (const piece of cut(cell).map(find)) if (piece) yield piece;
}

/**
 * @param {string[]} pieces of the page, in order
 * @param {string} passage
 * @returns {Set<number>} the pieces that are of the passage
 */
export function placesOf(pieces, passage) {
  const { all, from } = lettersOf(pieces);
  const found = new Set();
  for (const [start, end] of rangesOf(passage, all)) for (let at = start; at < end; at++) found.add(from[at]);
  return found;
}
