/** Files and folders that a person drops. Loaded with the first drop. */

/** Leave out hidden files of a folder, such as .DS_Store or .git. */
export const visible = (items) => items.filter(({ name }) => !/(^|\/)\./.test(name));

const readEntries = (reader) =>
  new Promise((resolve, reject) => {
    reader.readEntries(resolve, reject);
  });

async function filesOfEntry(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => {
      entry.file(resolve, reject);
    });
    return [{ name: entry.fullPath.replace(/^\//, ""), file }];
  }
  const entries = [];
  const reader = entry.createReader();
  // A folder is read in portions; an empty one marks the end.
  for (
    let part = await readEntries(reader);
    part.length;
    part = await readEntries(reader)
  )
    entries.push(...part);
  return visible(await filesOf(entries));
}

/** Return {name, file} of each file, also of those in folders. */
export const filesOf = async (entries) =>
  (await Promise.all(entries.map(filesOfEntry))).flat();
