// The console's only script. Each behaviour belongs to a data attribute, which the
// comment above it names. Pages work without the script where they can.
(() => {
  "use strict";

  const doc = document;
  doc.documentElement.classList.add("js");

  const find = (selector) => {
    try { return selector ? doc.querySelector(selector) : null; } catch { return null; }
  };
  const make = (tag, attributes = {}, ...children) => {
    const node = doc.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const submitForm = (form, button) => HTMLFormElement.prototype.requestSubmit.call(form, button);
  const parse = (html) => new DOMParser().parseFromString(html, "text/html").body;
  const get = (url, headers, signal) => fetch(url, { headers, signal, credentials: "same-origin", cache: "no-store" });
  const signedOut = (response) =>
    response.status === 401 || (response.redirected && new URL(response.url).pathname.startsWith("/signin"));

  // announce makes screen readers say a short text.
  let speaker = null;
  function announce(text) {
    if (!speaker) {
      speaker = make("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
      doc.body.append(speaker);
    }
    speaker.textContent = "";
    setTimeout(() => { speaker.textContent = text; }, 60);
  }

  // ---- <time datetime data-time="ago|short|full|date">
  // Times are in the language of the page, not in the browser's, so that a page has one.
  const { lang } = doc.documentElement;
  const formats = {
    short: new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" }),
    full: new Intl.DateTimeFormat(lang, { dateStyle: "full", timeStyle: "long" }),
    date: new Intl.DateTimeFormat(lang, { dateStyle: "medium" }),
    exact: new Intl.DateTimeFormat(lang, {
      year: "numeric", month: "short", day: "numeric",
      hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "longOffset",
    }),
  };
  const relative = new Intl.RelativeTimeFormat(lang, { numeric: "auto" });
  const steps = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [7 * 86400, "day", 86400]];

  function ago(when) {
    const seconds = (when - Date.now()) / 1000;
    const size = Math.abs(seconds);
    if (size < 45) return "just now";
    for (const [limit, unit, length] of steps) {
      const count = Math.round(seconds / length);
      if (size < limit && Math.abs(count) * length < limit) return relative.format(count, unit);
    }
    return formats.date.format(when);
  }

  function times(scope = doc) {
    for (const node of scope.querySelectorAll("time[datetime][data-time]")) {
      const when = new Date(node.getAttribute("datetime"));
      if (Number.isNaN(when.getTime())) continue;
      const style = node.dataset.time;
      const text = style === "ago" ? ago(when) : (formats[style] || formats.short).format(when);
      if (node.textContent !== text) node.textContent = text;
      if (!node.title) node.title = `${formats.exact.format(when)} \u00b7 ${when.toISOString().replace(/\.\d+Z$/, "Z")}`;
    }
  }

  // zone tells the server the reader's time zone, by a cookie.
  function zone() {
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!name || !/^[\w+\-/]+$/.test(name)) return;
    if (doc.cookie.split("; ").includes(`tz=${name}`)) return;
    doc.cookie = `tz=${name}; Path=/; SameSite=Lax; Max-Age=31536000${location.protocol === "https:" ? "; Secure" : ""}`;
  }

  // ---- <form data-live="#results">: the results are updated while the person types.
  // With data-stay the page keeps its address.
  const lives = new WeakMap();

  function formURL(form) {
    // getAttribute: a field called "action" shadows form.action.
    const url = new URL(form.getAttribute("action") || location.pathname, location.href);
    url.search = url.hash = "";
    for (const [name, value] of new FormData(form)) {
      if (typeof value === "string" && value.trim() !== "") url.searchParams.append(name, value);
    }
    return url;
  }

  function liveSoon(form, wait) {
    const live = lives.get(form) || { timer: 0, request: null, shown: location.href };
    lives.set(form, live);
    clearTimeout(live.timer);
    live.timer = setTimeout(() => liveNow(form, live), wait);
  }

  async function liveNow(form, live) {
    const target = find(form.dataset.live);
    const url = formURL(form);
    if (!target || url.href === live.shown) return;
    if (live.request) live.request.abort();
    const request = (live.request = new AbortController());
    live.shown = url.href;
    target.setAttribute("aria-busy", "true");
    try {
      const response = await get(url, { "X-Fragment": "results" }, request.signal);
      if (signedOut(response)) { location.assign(url.href); return; }
      if (!response.ok && response.status !== 422) throw new Error(`The server answered ${response.status}.`);
      const body = parse(await response.text());
      if (live.request !== request) return;
      target.replaceChildren(...body.childNodes);
      if (!("stay" in form.dataset)) history.replaceState(history.state, "", url);
      enhance(target);
      sayCount(target);
    } catch (problem) {
      if (live.request !== request || problem.name === "AbortError") return;
      live.shown = "";
      const retry = make("button", { type: "button", class: "button small" }, "Retry");
      retry.addEventListener("click", () => liveNow(form, live));
      const text = problem instanceof TypeError ? "Can't reach the server." : problem.message;
      target.replaceChildren(make("div", { class: "notice bad", role: "alert" },
        make("p", {}, `Couldn't load the list. ${text}`), make("div", { class: "actions" }, retry)));
    } finally {
      if (live.request === request) {
        live.request = null;
        target.removeAttribute("aria-busy");
        if (live.open) { live.open = false; openFirst(form); }
      }
    }
  }

  function sayCount(target) {
    const source = target.querySelector("[data-count], .count, .empty h2");
    const text = source ? source.dataset.count || source.textContent.trim() : "";
    const dialog = target.closest("dialog"); // what is outside of a modal dialog is silent
    const place = dialog ? dialog.querySelector('[role="status"]') : find("[data-announce]");
    if (place) { if (place !== source) place.textContent = text; } else if (text) announce(text);
  }

  // ---- <button data-copy="#id"> copies an element's text, <button data-copy-text="…"> its own
  async function copy(button) {
    const target = button.dataset.copyText ? button.previousElementSibling : find(button.dataset.copy);
    if (!target) return;
    const lines = [...target.querySelectorAll("li")].map((line) => line.textContent.trim()).join("\n");
    const text = button.dataset.copyText || ("value" in target ? target.value : lines || target.textContent.trim());
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without TLS there is no clipboard: select the text, so that the person can copy it.
      said = "Selected. Press Ctrl+C to copy.";
      if ("select" in target) target.select(); else getSelection().selectAllChildren(target);
    }
    announce(said);
    if (button.dataset.said) return;
    const label = [...button.childNodes];
    button.dataset.said = "1";
    button.replaceChildren(said);
    setTimeout(() => { button.replaceChildren(...label); delete button.dataset.said; }, 2000);
  }

  // ---- <tbody data-poll="URL" data-every="4000">: new rows appear at the top.
  // [data-poll-state] shows the state, button[data-poll-toggle] pauses, and
  // [data-poll-empty] is hidden once there is a row.
  const polls = new Map();
  const pollPaused = () => doc.hidden || Boolean(find('[data-poll-toggle][aria-pressed="true"]'));

  function pollState(name, ...content) {
    const node = find("[data-poll-state]");
    if (!node || node.dataset.pollState === name) return;
    node.dataset.pollState = name;
    node.replaceChildren(...content);
  }

  // pollLook starts or pauses every poll after the page's visibility or the toggle changed.
  function pollLook() {
    for (const [body, poll] of polls) {
      clearTimeout(poll.timer);
      if (!body.isConnected) polls.delete(body);
      else if (pollPaused()) pollState("paused", "Paused");
      else pollTurn(body, poll);
    }
  }

  // pollCount says how many rows there are by now, and that they are up to date:
  // <p class="count"><span data-poll-count="Newest ">Newest 25 events</span> <time …></p>
  function pollCount(body, cut) {
    const node = find("[data-poll-count]");
    if (!node) return;
    if (cut) node.dataset.pollCount = "Newest ";
    const count = body.querySelectorAll(":scope > tr:not(.detail)").length;
    node.textContent = `${node.dataset.pollCount}${count} ${count === 1 ? "event" : "events"}`;
    const time = node.parentElement.querySelector("time");
    if (time) { time.setAttribute("datetime", new Date().toISOString()); time.title = ""; }
  }

  async function pollTurn(body, poll) {
    if (!body.isConnected || pollPaused()) return;
    try {
      const response = await get(body.dataset.poll, { "X-Fragment": "rows", "X-Background": "1" });
      if (signedOut(response)) {
        polls.delete(body);
        pollState("out", "Signed out. ", make("a", { href: location.pathname + location.search }, "Sign in again"));
        return;
      }
      if (response.status === 403) {
        polls.delete(body);
        pollState("out", "You no longer have access");
        return;
      }
      if (!response.ok) throw new Error(String(response.status));
      body.dataset.poll = response.headers.get("X-Next-Poll") || body.dataset.poll;
      const rows = parse(`<table><tbody>${await response.text()}</tbody></table>`).querySelectorAll("tr[id]");
      if (!body.isConnected || pollPaused()) return;
      const fresh = [...rows].filter((row) => !doc.getElementById(row.id));
      for (const row of fresh) row.classList.add("new");
      body.prepend(...fresh);
      const cut = body.rows.length > 500;
      while (body.rows.length > 500) body.rows[body.rows.length - 1].remove();
      if (fresh.length) for (const node of doc.querySelectorAll("[data-poll-empty]")) node.hidden = true;
      pollCount(body, cut);
      times();
      poll.failures = 0;
      pollState("live", "Live");
    } catch {
      poll.failures += 1;
      if (!pollPaused()) pollState("offline", "Offline, retrying");
    }
    const every = Math.max(1000, Number(body.dataset.every) || 4000);
    clearTimeout(poll.timer);
    poll.timer = setTimeout(pollTurn, Math.min(60000, every * 2 ** Math.min(poll.failures, 5)), body, poll);
  }

  // ---- <section data-refresh="NAME">: the fragment is fetched anew, until it says so no more. Then
  // the whole page is.
  async function refreshTurn(node) {
    if (!node.isConnected) return;
    try {
      if (!doc.hidden) {
        const response = await get(location.href, { "X-Fragment": node.dataset.refresh, "X-Background": "1" });
        const fresh = response.ok && !signedOut(response) ? parse(await response.text()).firstElementChild : null;
        if (!fresh || !("refresh" in fresh.dataset)) { location.reload(); return; }
        node.replaceWith(fresh);
        node = fresh;
      }
    } catch { /* The server cannot be reached: the next turn tries again. */ }
    setTimeout(refreshTurn, 1000, node);
  }

  // ---- <form data-upload>: the file is sent with its progress shown. One that is larger than
  // the input's data-most is not sent. A file can be dropped on the form.
  function upload(form) {
    const input = form.querySelector('input[type="file"]'), file = input.files[0];
    const status = form.querySelector("[data-upload-status]");
    const say = (kind, ...content) => { status.className = `notice ${kind}`; status.hidden = false; status.replaceChildren(...content); };
    if (!file) { say("bad", make("p", {}, "Choose a file first.")); input.focus(); return; }
    if (file.size > Number(input.dataset.most)) {
      say("bad", make("p", {}, `${file.name} is too large: ${input.dataset.mostText} is the most. Split it into several files.`));
      input.focus();
      return;
    }
    const bar = make("progress", { max: "100", value: "0", "aria-label": `Sending ${file.name}` });
    const request = new XMLHttpRequest();
    const stop = make("button", { type: "button", class: "button small" }, "Stop");
    const end = (text) => { busy.delete(form); release(); say("bad", make("p", {}, text)); };
    stop.addEventListener("click", () => request.abort());
    say("", make("p", {}, `Sending ${file.name}`), bar, make("div", { class: "actions" }, stop));
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = (100 * event.loaded) / event.total; });
    request.addEventListener("load", () => {
      if (request.status < 300) { location.assign(request.responseURL); return; }
      const told = parse(request.responseText).querySelector("#file-problem, main .notice.bad, main p");
      end(told ? told.textContent.trim() : "That didn't work. Reload the page and try again.");
    });
    request.addEventListener("error", () => end("Can't reach the server. Try again."));
    request.addEventListener("abort", () => end("Stopped. Nothing was imported."));
    request.open("POST", form.getAttribute("action"));
    request.send(new FormData(form));
    busy.add(form);
  }

  // ---- <button data-add="#template" data-to="#container">, <button data-remove=".pair">
  function addFrom(button) {
    const template = find(button.dataset.add), container = find(button.dataset.to);
    if (!template || !container) return;
    const piece = template.content.cloneNode(true);
    const first = piece.querySelector("input, select, textarea");
    container.append(piece);
    enhance(container);
    if (first) first.focus();
  }

  function removeClosest(button) {
    const piece = button.closest(button.dataset.remove);
    if (!piece) return;
    const near = piece.nextElementSibling || piece.previousElementSibling;
    const next = (near && near.querySelector("[data-remove], input")) || find(`[data-to="#${piece.parentElement.id}"]`);
    piece.remove();
    if (next) next.focus();
  }

  // ---- <form data-confirm="Question?">: ask first. A button can have its own question.
  const confirmed = new WeakSet();

  function ask(question, button, done) {
    const yes = make("button", { type: "button", class: "button primary" }, (button && button.dataset.confirmLabel) || "Confirm");
    if (button && button.classList.contains("danger")) yes.classList.add("danger");
    const no = make("button", { type: "button", class: "button" }, "Cancel");
    const heading = make("h2", { id: "confirm-question" }, question);
    const dialog = make("dialog", { class: "dialog", "aria-labelledby": heading.id }, heading, make("div", { class: "actions" }, no, yes));
    no.addEventListener("click", () => dialog.close("no"));
    yes.addEventListener("click", () => dialog.close("yes"));
    dialog.addEventListener("close", () => { dialog.remove(); done(dialog.returnValue === "yes"); });
    doc.body.append(dialog);
    dialog.showModal();
    no.focus();
  }

  function onSubmitFirst(event) {
    const form = event.target, button = event.submitter;
    const question = (button && button.dataset.confirm) || form.dataset.confirm;
    if (!question || confirmed.delete(form)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    ask(question, button, (yes) => {
      if (yes) { confirmed.add(form); submitForm(form, button); }
      else if ("autosubmit" in form.dataset) form.reset();
    });
  }

  // ---- every form is sent once. Its buttons are disabled only after the browser has
  // read the form, so that the pressed button's name and value are still sent.
  const busy = new Set();

  function onSubmit(event) {
    const form = event.target;
    if (event.defaultPrevented) return;
    if (form.dataset.live) { event.preventDefault(); liveSoon(form, 0); return; }
    if (busy.has(form)) { event.preventDefault(); return; }
    if ("upload" in form.dataset) { event.preventDefault(); upload(form); return; }
    if ("download" in form.dataset || (event.submitter && "download" in event.submitter.dataset) || form.getAttribute("target") || form.getAttribute("method") === "dialog") return;
    busy.add(form);
    setTimeout(() => {
      for (const button of form.elements) {
        if (button.type !== "submit" || button.disabled) continue;
        if (!event.submitter || button === event.submitter) button.setAttribute("aria-busy", "true");
        button.disabled = true;
        button.dataset.sent = "1";
      }
    }, 0);
  }

  function release() {
    busy.clear();
    for (const button of doc.querySelectorAll("[data-sent], [data-passkey][aria-busy]")) {
      if (button.dataset.sent) button.disabled = false;
      button.removeAttribute("aria-busy");
      delete button.dataset.sent;
    }
  }

  // ---- <button data-passkey="signin|register" data-begin data-finish data-status>
  const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const toText = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  function readOptions(options, register) {
    const native = register ? "parseCreationOptionsFromJSON" : "parseRequestOptionsFromJSON";
    if (PublicKeyCredential[native]) return PublicKeyCredential[native](options);
    const ids = (list) => (list || []).map((one) => ({ ...one, id: toBytes(one.id) }));
    const read = { ...options, challenge: toBytes(options.challenge) };
    if (register) {
      read.user = { ...options.user, id: toBytes(options.user.id) };
      read.excludeCredentials = ids(options.excludeCredentials);
    } else read.allowCredentials = ids(options.allowCredentials);
    return read;
  }

  function writeCredential(credential) {
    if (credential.toJSON) return credential.toJSON();
    const response = {};
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[name]) response[name] = toText(credential.response[name]);
    }
    if (credential.response.getTransports) response.transports = credential.response.getTransports();
    return {
      id: credential.id, rawId: toText(credential.rawId), type: credential.type, response,
      authenticatorAttachment: credential.authenticatorAttachment || undefined,
      clientExtensionResults: credential.getClientExtensionResults(),
    };
  }

  async function post(url, value) {
    const response = await fetch(url, {
      method: "POST", credentials: "same-origin", cache: "no-store", body: JSON.stringify(value),
      headers: { "Content-Type": "application/json", Accept: "application/json" },
    });
    const answer = await response.json().catch(() => ({}));
    if (answer.error) throw new Error(typeof answer.error === "string" ? answer.error : answer.error.message);
    if (!response.ok || response.redirected) throw new Error("That didn't work. Reload the page and try again.");
    return answer;
  }

  async function passkey(button) {
    const register = button.dataset.passkey === "register";
    const status = find(button.dataset.status);
    const say = (text, kind) => {
      if (!status) return announce(text);
      status.setAttribute("role", "alert");
      status.className = text ? `notice ${kind}` : "";
      status.hidden = !text;
      status.textContent = text;
    };
    const form = button.closest("form");
    const name = register && form ? form.querySelector('[name="name"]') : null;
    if (button.getAttribute("aria-busy") === "true") return;
    if (name && !name.value.trim()) {
      say(`Enter ${name.dataset.what || "a name"} first.`, "bad");
      name.setAttribute("aria-invalid", "true");
      name.focus();
      return;
    }
    if (name) name.removeAttribute("aria-invalid");
    button.setAttribute("aria-busy", "true");
    say("");
    try {
      const begun = await post(button.dataset.begin, {});
      const publicKey = readOptions(begun.publicKey, register);
      const credential = await (register ? navigator.credentials.create({ publicKey }) : navigator.credentials.get({ publicKey }));
      const finish = new URL(button.dataset.finish, location.href);
      if (name && name.value.trim()) finish.searchParams.set("name", name.value.trim());
      const answer = await post(finish, writeCredential(credential));
      const place = new URL(answer.location || location.href, location.href);
      location.assign(place.origin === location.origin ? place.href : "/");
    } catch (problem) {
      button.removeAttribute("aria-busy");
      if (problem.name === "NotAllowedError" || problem.name === "AbortError") say("No passkey was used. Try again, or continue another way.", "");
      else if (problem.name === "InvalidStateError") say("This device already has a passkey for your account.", "warn");
      else say(problem instanceof TypeError ? "Can't reach the server. Try again." : problem.message, "bad");
    }
  }

  // ---- details.menu: one is open at a time. It closes on Escape, on a click outside and
  // when the focus leaves it.
  function closeMenus(except) {
    for (const menu of doc.querySelectorAll("details.menu[open]")) {
      if (!except || !menu.contains(except)) menu.open = false;
    }
  }

  // ---- <a data-search href="/w/…/search">: the search as a dialog. Ctrl-K and / open it,
  // too; the arrow keys move through the results and Enter opens one.
  function openSearch(link) {
    const input = make("input", {
      type: "text", name: "q", inputmode: "search", autocomplete: "off", spellcheck: "false",
      placeholder: "Search payees, members and pages", "aria-label": "Search payees, members and pages",
    });
    const form = make("form", { action: link.getAttribute("href"), role: "search", "data-live": "#search-results", "data-stay": "" }, input);
    const dialog = make("dialog", { class: "dialog searchbox", "aria-label": "Search" }, form,
      make("p", { class: "visually-hidden", role: "status" }), make("div", { id: "search-results" }),
      make("p", { class: "hint", "aria-hidden": "true" }, "↑ ↓ to move, Enter to open, Esc to close"));
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target === input) { event.preventDefault(); openFirst(form); }
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      const stops = [input, ...dialog.querySelectorAll("a[href]")];
      const next = stops.indexOf(doc.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      stops[(next + stops.length) % stops.length].focus();
      event.preventDefault();
    });
    doc.body.append(dialog);
    dialog.showModal();
    input.focus();
    liveSoon(form, 0);
  }

  // openFirst opens the first result of a live form, once the results are current.
  function openFirst(form) {
    const live = lives.get(form), target = find(form.dataset.live);
    if (live.request || formURL(form).href !== live.shown) { live.open = true; liveSoon(form, 0); return; }
    const first = target.querySelector("a[href]");
    if (first) first.click();
  }

  function searchKey(event) {
    const link = find("a[data-search]");
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    const slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    const ctrlK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!link || !(slash || ctrlK)) return;
    event.preventDefault();
    if (!find("dialog[open]")) openSearch(link);
  }

  // ---- input[data-filter="#list"]: keep the items that contain the text
  function filterList(input) {
    const list = find(input.dataset.filter);
    const words = input.value.trim().toLowerCase().split(/\s+/);
    for (const item of list ? list.children : []) {
      item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word));
    }
  }

  // ---- <input type="checkbox" value="a" data-needs="b c">: ticking a ticks b and c,
  // clearing b clears a
  function tickNeeded(box) {
    const all = [...box.form.querySelectorAll("[data-needs]")];
    const needs = (one) => one.dataset.needs.split(" ");
    const along = all.filter((one) => one.checked !== box.checked &&
      (box.checked ? needs(box).includes(one.value) : needs(one).includes(box.value)));
    for (const one of along) one.checked = box.checked;
    if (along.length) announce(`${box.checked ? "Also selected" : "Also cleared"}: ${along.map((one) => one.value).join(", ")}`);
  }

  // ---- <form data-select>: says in data-selected how many boxes are ticked, and data-select-all ticks
  // all of the page. Nothing can be done to nothing.
  function select(form, changed) {
    const boxes = [...form.querySelectorAll('input[name="id"]')];
    const page = form.querySelector("[data-select-all]"), all = form.elements.all;
    if (changed === page) for (const box of boxes) box.checked = page.checked;
    const count = boxes.filter((box) => box.checked).length;
    page.checked = count === boxes.length;
    page.indeterminate = count > 0 && count < boxes.length;
    form.querySelector("[data-selected]").textContent = all.checked ? "" : `${count} selected`;
    for (const button of form.querySelectorAll('button[name="action"]')) button.disabled = !count && !all.checked;
  }

  // enhance prepares the page, and later every piece that is added to it.
  function enhance(scope) {
    times(scope);
    for (const button of scope.querySelectorAll("[data-passkey]")) button.hidden = !window.PublicKeyCredential;
    for (const body of scope.querySelectorAll("tbody[data-poll]")) {
      if (!polls.has(body)) { polls.set(body, { timer: 0, failures: 0 }); pollLook(); }
    }
    for (const form of scope.querySelectorAll("form[data-select]")) select(form);
    for (const node of scope.querySelectorAll("[data-refresh]")) setTimeout(refreshTurn, 1000, node);
    for (const wrap of scope.querySelectorAll(".tablewrap")) {
      if (wrap.scrollWidth > wrap.clientWidth + 1) wrap.tabIndex = 0;
    }
  }

  doc.addEventListener("click", (event) => {
    closeMenus(event.target);
    const search = event.target.closest("a[data-search]");
    if (search && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); openSearch(search); return; }
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy || button.dataset.copyText) copy(button);
    else if ("print" in button.dataset) print();
    else if (button.dataset.add) addFrom(button);
    else if (button.dataset.remove) removeClosest(button);
    else if ("pollToggle" in button.dataset) {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      pollLook();
    }
    else if (button.dataset.passkey) { event.preventDefault(); passkey(button); }
  });
  doc.addEventListener("input", (event) => {
    const input = event.target;
    if (input.dataset.filter) filterList(input);
    else if (input.form && input.form.dataset.live) liveSoon(input.form, 180);
  });
  doc.addEventListener("change", (event) => {
    const { form } = event.target;
    if ("needs" in event.target.dataset) tickNeeded(event.target);
    if (form && "select" in form.dataset) select(form, event.target);
    if (form && form.dataset.live) liveSoon(form, 180);
    else if (form && "autosubmit" in form.dataset && event.target.matches("select")) submitForm(form);
  });
  for (const name of ["dragover", "drop", "dragleave"]) {
    doc.addEventListener(name, (event) => {
      const form = event.target.closest && event.target.closest("form[data-upload]");
      if (!form || !event.dataTransfer) return;
      event.preventDefault();
      form.classList.toggle("over", name === "dragover");
      if (name !== "drop" || !event.dataTransfer.files.length) return;
      form.querySelector('input[type="file"]').files = event.dataTransfer.files;
      submitForm(form);
    });
  }
  doc.addEventListener("reset", (event) => { if (event.target.dataset.live) liveSoon(event.target, 0); });
  doc.addEventListener("keydown", (event) => {
    searchKey(event);
    if (event.key === "Enter" && event.target.matches("input[data-filter]")) {
      event.preventDefault();
      const hit = find(`${event.target.dataset.filter} > :not([hidden]) a, ${event.target.dataset.filter} > a:not([hidden])`);
      if (hit) hit.click();
    }
    const menu = event.key === "Escape" && event.target.closest("details.menu[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
    else if (event.key === "Escape") closeMenus();
  });
  doc.addEventListener("focusout", (event) => {
    const menu = event.target.closest("details.menu[open]");
    if (menu && event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  doc.addEventListener("toggle", (event) => {
    if (event.target.matches("details.menu[open]")) closeMenus(event.target);
  }, true);
  doc.addEventListener("submit", onSubmitFirst, true);
  doc.addEventListener("submit", onSubmit);
  doc.addEventListener("visibilitychange", pollLook);
  window.addEventListener("pageshow", release);
  setInterval(times, 30000);
  zone();
  enhance(doc);
  // A form that was refused: the first wrong field gets the focus.
  const wrong = find('main [aria-invalid="true"]');
  if (wrong && !wrong.autofocus) wrong.focus();
})();
