// The events of POST /api/chat, as they come: node docs/examples/stream.js "What is the population of Kenya?"
const server = process.env.REPORT_CHAT ?? "http://127.0.0.1:8000";
const reply = await fetch(`${server}/api/chat`, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ query: process.argv[2], mode: "auto" }),
});
if (!reply.ok) throw new Error((await reply.json()).error.message);

let waiting = "";
for await (const piece of reply.body.pipeThrough(new TextDecoderStream())) {
  const blocks = (waiting + piece).split("\n\n");
  waiting = blocks.pop();
  for (const block of blocks.filter((one) => one.startsWith("event: "))) {
    const [event, data] = block.split("\n");
    const value = JSON.parse(data.slice("data: ".length));
    if (event === "event: step") console.error(value.detail);
    if (event === "event: token") process.stdout.write(value.text);
    if (event === "event: done") console.log("\n", value.sources);
  }
}
