// The upload page of a request: files dropped or chosen are sent as they are, with progress; without scripts the form
// does.
(() => {
  "use strict";
  const form = document.getElementById("give-file");
  const list = document.getElementById("given");
  if (!form || !list) return;
  const input = form.querySelector("input[type=file]");
  const drop = document.getElementById("drop");
  const most = Number(form.dataset.most);
  const size = (n) =>
    n < 1024
      ? `${n} B`
      : n < 1048576
        ? `${(n / 1024).toFixed(1)} KiB`
        : n < 1073741824
          ? `${(n / 1048576).toFixed(1)} MiB`
          : `${(n / 1073741824).toFixed(2)} GiB`;
  const visible = (text) =>
    text.replace(
      /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
      (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    );
  const queue = [];
  let busy = false;

  function send(file) {
    const row = document.createElement("li");
    const words = document.createElement("p");
    const bar = document.createElement("progress");
    bar.max = Math.max(file.size, 1);
    bar.value = 0;
    bar.setAttribute("aria-label", `sent of ${visible(file.name)}`);
    row.append(words, bar);
    list.append(row);
    const end = (text, kind) => {
      words.textContent = `${visible(file.name)}: ${text}`;
      row.classList.add(kind);
      bar.remove();
    };
    words.textContent = `${visible(file.name)}: waiting`;
    if (!file.size) return void end("it is empty, so it was not sent.", "bad");
    if (file.size > most) return void end(`${size(file.size)} is more than this link takes. Send a part of it.`, "bad");
    queue.push({ file, words, bar, end });
    next();
  }

  function next() {
    const job = !busy && queue.shift();
    if (!job) return;
    busy = true;
    const request = new XMLHttpRequest();
    request.open("PUT", form.dataset.put + encodeURIComponent(job.file.name));
    request.upload.onprogress = (event) => {
      job.bar.value = event.loaded;
      job.words.textContent = `${visible(job.file.name)}: ${size(event.loaded)} of ${size(job.file.size)}`;
    };
    const done = (text, kind) => {
      job.end(text, kind);
      busy = false;
      next();
    };
    request.onload = () => {
      let said = {};
      try {
        said = JSON.parse(request.responseText);
      } catch {
        /* a proxy's own page */
      }
      if (request.status === 201) done(`received, ${size(said.size)}. SHA-256 ${said.sha256}. ${said.next}`, "ok");
      else done(said.error || `not taken: the server answered ${request.status}.`, "bad");
    };
    request.onerror = () => done("the connection broke. Choose it again to send it again.", "bad");
    request.send(job.file);
  }

  form.addEventListener("submit", (event) => {
    if (!input.files.length) return;
    event.preventDefault();
    [...input.files].forEach(send);
    input.value = "";
  });
  input.multiple = true;
  for (const name of ["dragenter", "dragover"])
    document.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) drop.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    [...(event.dataTransfer?.files || [])].forEach(send);
  });
})();
