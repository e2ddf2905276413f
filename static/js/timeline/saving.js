// What is selected or seen of a frame as a file: a picture, its rows, a trace for Perfetto.

import { button, make, text } from "./words.js";

export function saveLinks(frame, room) {
  const list = make("div", "tl-save script-only");
  const window = () => {
    const { start, end } = frame.mark ?? frame.view;
    return room.query({ frame: frame.meta.frame, from: start, to: end }, frame.meta.frame);
  };
  const link = (words, url) => {
    const one = text("a", words, "quiet");
    one.setAttribute("download", "");
    one.href = "#";
    one.addEventListener("click", () => {
      one.href = url();
    });
    return one;
  };
  const picture = (query) => `${room.state.picture}?${query}`;
  const png = button("Picture (PNG)", "quiet");
  png.addEventListener("click", async () => {
    const query = window();
    query.set("px", "1600");
    const image = new Image();
    image.src = picture(query);
    try {
      await image.decode();
      const canvas = make("canvas");
      canvas.width = image.naturalWidth * 2;
      canvas.height = image.naturalHeight * 2;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      const made = await new Promise((done) => {
        canvas.toBlob(done, "image/png");
      });
      const save = make("a");
      save.href = URL.createObjectURL(made);
      save.download = `${room.state.picture.split("/").at(-3)}.png`;
      save.click();
      setTimeout(() => URL.revokeObjectURL(save.href), 10_000);
    } catch {
      frame.say("The picture could not be made. Try again, or take the SVG.");
    }
  });
  list.append(
    text("b", "Save what is selected, else what is seen"),
    link("Picture (SVG)", () => {
      const query = window();
      query.set("px", "1600");
      query.set("save", "");
      return picture(query);
    }),
    png,
    ...[
      ["Rows (CSV)", "csv"],
      ["Rows (Parquet)", "parquet"],
      ["Trace for Perfetto", "trace"],
    ].map(([words, form]) => link(words, () => `${room.state.rows.replace(/csv$/, form)}?${window()}`)),
  );
  return list;
}
