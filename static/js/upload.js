// Uploads: drop anywhere, file dialog, paste outside a field. Small tus 1.0 client: resumes by itself after a cut,
// and goes on with an earlier upload when the same file is chosen again.
(() => {
  "use strict";
  const { uploads, slug } = document.body.dataset;
  if (!uploads) return;
  const { refuse, say, csrf } = window.exhibit;
  const CHUNK = 16 * 1024 * 1024;
  const AT_ONCE = 2;
  const TELL_MS = 3000; // so long a silence of the server is told,
  const READ_MS = 4000; // so long the row of a file that was read stays
  const SILENT_MS = 60000; // and after so long the request is given up and the server asked how far it came
  const queue = [];
  let running = 0;
  let newest = null;
  const place = document.getElementById("sending");
  const list = place.querySelector("ul");
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  const size = (n) =>
    n < 1024
      ? `${n} B`
      : n < 1048576
        ? `${(n / 1024).toFixed(0)} KiB`
        : n < 1073741824
          ? `${(n / 1048576).toFixed(1)} MiB`
          : `${(n / 1073741824).toFixed(2)} GiB`;
  const visible = (text) =>
    text.replace(
      /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
      (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    );

  function dismiss(row) {
    row.remove();
    place.hidden = !list.children.length;
  }

  class Upload {
    constructor(blob, name, said) {
      Object.assign(this, { blob, name, said, stopped: false, retries: 0 });
      this.ended = new Promise((done) => {
        this.finish = done;
      });
      this.memory = `exhibit:upload:${slug}:${name}:${blob.size}:${blob.lastModified || 0}`;
      this.row = document.createElement("li");
      this.row.innerHTML =
        '<span class="name"></span>' +
        '<progress max="1" value="0"></progress>' +
        '<span class="meta" data-words></span>' +
        '<button type="button" class="quiet">Stop</button>';
      this.row.querySelector(".name").textContent = visible(name);
      this.bar = this.row.querySelector("progress");
      this.bar.setAttribute("aria-label", "sent of " + visible(name));
      this.bar.max = Math.max(blob.size, 1);
      this.words = this.row.querySelector("[data-words]");
      this.button = this.row.querySelector("button");
      this.button.addEventListener("click", () => this.stop());
      list.append(this.row);
      place.hidden = false;
      this.state("waiting");
    }
    state(text) {
      this.words.textContent = text;
    }
    end(text, failed) {
      this.state(text);
      this.done = true;
      this.finish();
      this.row.classList.toggle("bad", Boolean(failed));
      this.button.textContent = "Dismiss";
      if (failed) say(`${visible(this.name)}: ${text}`);
    }
    stop() {
      if (this.done) return dismiss(this.row);
      this.stopped = true;
      this.request?.abort();
      this.end("stopped; choose the file again to go on");
    }
    send(method, url, headers, body) {
      return new Promise((resolve, reject) => {
        const request = (this.request = new XMLHttpRequest());
        let heard = performance.now();
        const watch = setInterval(() => {
          const silence = performance.now() - heard;
          if (silence > SILENT_MS) request.abort();
          else if (silence > TELL_MS) this.waits(`the server has not answered for ${Math.round(silence / 1000)} s`);
        }, 1000);
        request.open(method, url);
        request.setRequestHeader("Tus-Resumable", "1.0.0");
        request.setRequestHeader("X-CSRFToken", csrf());
        for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
        if (body)
          request.upload.onprogress = (event) => {
            heard = performance.now();
            this.progress(this.offset + event.loaded);
          };
        request.onloadend = () => clearInterval(watch);
        request.onload = () => resolve(request);
        request.onerror = request.onabort = request.ontimeout = () => reject(new Error("cut"));
        request.send(body || null);
      });
    }
    waits(why) {
      this.since = 0; // the speed is that of the sending, not of the waiting
      this.state(`${why}; ${size(this.offset || 0)} of ${size(this.blob.size)} are safe. It goes on by itself`);
      if (!this.waiting) say(`${visible(this.name)}: ${this.words.textContent}`);
      this.waiting = true;
    }
    progress(sent) {
      this.waiting = false;
      const now = performance.now();
      if (!this.since || sent < this.from) {
        this.since = now;
        this.from = sent;
      }
      const speed = (sent - this.from) / Math.max((now - this.since) / 1000, 0.2);
      this.bar.value = sent;
      this.state(`${size(sent)} of ${size(this.blob.size)}${speed > 0 ? `, ${size(speed)}/s` : ""}`);
    }
    async begin() {
      const known = localStorage.getItem(this.memory);
      if (known) {
        const answer = await this.send("HEAD", known, {});
        if (answer.status === 200 || answer.status === 204) {
          this.url = known;
          this.offset = Number(answer.getResponseHeader("Upload-Offset"));
          return answer;
        }
        localStorage.removeItem(this.memory);
      }
      const facts = { filename: this.name, ...this.said };
      const metadata = Object.entries(facts)
        .filter(([, value]) => value)
        .map(([name, value]) => `${name} ${base64(value)}`)
        .join(",");
      const answer = await this.send("POST", uploads, {
        "Upload-Length": String(this.blob.size),
        "Upload-Metadata": metadata,
      });
      if (answer.status === 201) {
        this.url = new URL(answer.getResponseHeader("Location"), location.href).href;
        this.offset = Number(answer.getResponseHeader("Upload-Offset")) || 0;
        localStorage.setItem(this.memory, this.url);
      }
      return answer;
    }
    refused(answer) {
      let words = "";
      try {
        words = JSON.parse(answer.responseText).error;
      } catch {
        words = (answer.responseText || "").trim().slice(0, 300);
      }
      // In a closed room what arrived is kept: the same file, sent again when it is open, goes on from there.
      const closed = answer.getResponseHeader("Exhibit-Closed");
      if (!closed) localStorage.removeItem(this.memory);
      this.end(
        words ||
          (closed
            ? "this room is closed; what arrived is kept for a day, " +
              "and the same file goes on from there when a lead opens the room"
            : `refused: the server answered ${answer.status}`),
        true,
      );
    }
    received(answer) {
      localStorage.removeItem(this.memory);
      this.bar.value = this.bar.max;
      const number = answer.getResponseHeader("Exhibit-Artifact");
      this.end(
        answer.getResponseHeader("Exhibit-Already-Here")
          ? `already here, as artifact ${number}`
          : "received; waiting to be read",
      );
      if (number) {
        this.row.dataset.progress = number;
        this.row.querySelector(".name").textContent = "";
        const link = document.createElement("a");
        link.href = `/rooms/${slug}/evidence/${number}/`;
        link.textContent = visible(this.name);
        this.row.querySelector(".name").append(link);
        // The news may have come before the answer.
        if (!answer.getResponseHeader("Exhibit-Already-Here")) follow(this.row);
      }
    }
    async run() {
      while (!this.stopped && !this.done) {
        try {
          const answer = this.url ? await this.send("HEAD", this.url, {}) : await this.begin();
          if (answer.status >= 500 && answer.status !== 507) throw new Error("away");
          if (answer.status >= 400) {
            if (this.url && answer.status === 404 && this.retries < 3) {
              this.retries++;
              this.url = null;
              localStorage.removeItem(this.memory);
              continue;
            }
            return this.refused(answer);
          }
          this.offset = Number(answer.getResponseHeader("Upload-Offset")) || 0;
          if (answer.getResponseHeader("Exhibit-Artifact")) return this.received(answer);
          let moved = await this.patch();
          if (moved) return;
        } catch (error) {
          if (this.stopped) return;
          if (error.message !== "cut" && error.message !== "away") throw error;
          this.retries++;
          this.waits(error.message === "cut" ? "connection lost" : "the server cannot take files just now");
          await wait(Math.min(500 * 2 ** Math.min(this.retries, 4), 5000));
        }
      }
    }
    async patch() {
      do {
        // A file becomes an artifact with its last piece: sent in the order in which the files were chosen.
        if (this.offset + CHUNK >= this.blob.size) await this.before;
        if (this.stopped) return true;
        const answer = await this.send(
          "PATCH",
          this.url,
          { "Upload-Offset": String(this.offset), "Content-Type": "application/offset+octet-stream" },
          this.blob.slice(this.offset, this.offset + CHUNK),
        );
        if (answer.getResponseHeader("Exhibit-Closed")) {
          this.refused(answer);
          return true;
        }
        if (answer.status === 409 || answer.status === 423) {
          await wait(500);
          return false;
        } // it stands elsewhere, or is busy: ask where
        if (answer.status >= 500 && answer.status !== 507) throw new Error("away");
        if (answer.status >= 400) {
          this.refused(answer);
          return true;
        }
        this.retries = 0;
        this.offset = Number(answer.getResponseHeader("Upload-Offset"));
        this.progress(this.offset);
        if (this.offset >= this.blob.size) {
          this.received(answer);
          return true;
        }
      } while (!this.stopped);
      return true;
    }
  }
  async function next() {
    if (running >= AT_ONCE || !queue.length) return;
    running++;
    const upload = queue.shift();
    try {
      await upload.run();
    } catch (error) {
      upload.end("stopped by a fault of this page: " + error.message, true);
    } finally {
      running--;
      next();
    }
  }
  function said() {
    const form = document.getElementById("say");
    return form
      ? Object.fromEntries(
          [...new FormData(form)].filter(
            ([name, value]) => value && typeof value === "string" && name !== "csrfmiddlewaretoken",
          ),
        )
      : {};
  }
  function add(files) {
    for (const file of files) {
      const upload = new Upload(file, file.fullName || file.webkitRelativePath || file.name, said());
      upload.before = newest?.ended;
      newest = upload;
      queue.push(upload);
    }
    for (let i = 0; i < AT_ONCE; i++) next();
  }
  addEventListener("beforeunload", (event) => {
    if (running || queue.length) event.preventDefault();
  });

  // The artifact's row of this list follows the room's news; news without a number stands for all that was missed.
  async function follow(row) {
    const answer = await fetch(`/rooms/${slug}/evidence/?part=state&n=${row.dataset.progress}`, {
      credentials: "same-origin",
    }).catch(() => null);
    if (!answer?.ok) return;
    const words = await answer.text();
    row.querySelector("[data-words]").textContent = words;
    const bad = words.startsWith("not read");
    row.classList.toggle("bad", bad);
    // Read without a fault: in the room, where the rest is told, the row has nothing more to say.
    if (document.getElementById("verdict") && !bad && / read\b|unpacked/.test(words))
      setTimeout(() => row.matches(":focus-within") || dismiss(row), READ_MS);
  }
  document.body.addEventListener("room:artifact", (event) => {
    const { object } = event.detail;
    [...list.children]
      .filter((row) => row.dataset.progress && (object === undefined || row.dataset.progress === String(object)))
      .forEach(follow);
  });

  // Drop.
  const drop = document.getElementById("drop");
  let inside = 0;
  const carries = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (carries(event)) {
      inside++;
      drop.hidden = false;
      event.preventDefault();
    }
  });
  addEventListener("dragover", (event) => {
    if (carries(event)) event.preventDefault();
  });
  addEventListener("dragleave", (event) => {
    if (carries(event) && --inside <= 0) {
      inside = 0;
      drop.hidden = true;
    }
  });
  async function walk(entry, prefix) {
    if (entry.isFile) {
      const file = await new Promise((done, fail) => entry.file(done, fail));
      file.fullName = prefix + file.name;
      return [file];
    }
    const reader = entry.createReader();
    const found = [];
    for (;;) {
      const batch = await new Promise((done, fail) => reader.readEntries(done, fail));
      if (!batch.length) return found;
      for (const child of batch) found.push(...(await walk(child, `${prefix}${entry.name}/`)));
    }
  }
  addEventListener("drop", async (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    inside = 0;
    drop.hidden = true;
    const plain = [...event.dataTransfer.files];
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    if (!entries.some((entry) => entry.isDirectory)) return add(plain);
    try {
      for (const entry of entries) add(await walk(entry, ""));
    } catch {
      refuse("That folder could not be read by the browser. Drop its files instead.");
    }
  });

  // File dialog of the add page.
  document.querySelectorAll("input[type=file][data-send]").forEach((input) =>
    input.addEventListener("change", () => {
      add([...input.files]);
      input.value = "";
    }),
  );

  // Paste outside a field.
  const dialog = document.getElementById("paste");
  document.addEventListener("paste", (event) => {
    if (event.target.closest?.("input, textarea, select, [contenteditable], dialog[open]")) return;
    const files = [...(event.clipboardData?.files || [])];
    if (files.length) {
      event.preventDefault();
      return add(files);
    }
    const text = event.clipboardData?.getData("text/plain") || "";
    if (!text.trim()) return;
    event.preventDefault();
    const lines = text.split(/\r\n|\r|\n/);
    document.getElementById("paste-text").textContent =
      lines.slice(0, 40).map(visible).join("\n") + (lines.length > 40 ? "\n…" : "");
    document.getElementById("paste-size").textContent =
      `${lines.length} lines, ${size(new Blob([text]).size)}. It is kept byte for byte.`;
    document.getElementById("paste-name").value =
      `paste-${new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-")}.txt`;
    dialog.returnValue = "no";
    dialog.showModal();
    dialog.addEventListener(
      "close",
      () => {
        if (dialog.returnValue === "yes")
          add([new File([text], document.getElementById("paste-name").value || "paste.txt", { type: "text/plain" })]);
      },
      { once: true },
    );
  });
})();
