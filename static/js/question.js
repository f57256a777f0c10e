const LONG = 160;
/** Times its height when folded: what is a little longer is shown whole. */
const WORTH_FOLDING = 1.5;

/** The question above its answer, folded where it is very long; whether it takes most of the window all the same. */
export function showQuestion(turn, text) {
  const heading = turn.querySelector(".question");
  const button = turn.querySelector(".question-fold");
  const fold = (isFolded) => {
    heading.classList.toggle("folded", isFolded);
    button.setAttribute("aria-expanded", String(!isFolded));
    button.textContent = isFolded ? "Show the whole question" : "Show less of the question";
  };
  heading.textContent = text;
  heading.classList.toggle("long", text.length > LONG);
  fold(true);
  button.hidden = heading.scrollHeight <= WORTH_FOLDING * heading.clientHeight;
  if (button.hidden) fold(false);
  button.addEventListener("click", () => fold(!heading.classList.contains("folded")));
  return heading.offsetHeight > innerHeight / 2;
}
