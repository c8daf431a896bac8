// The functions that the tests call in a page. They are sent along with every call, inside
// a function, so that the page keeps nothing of them except window.bursarTest.

const squeeze = (text) => (text ?? "").replace(/\s+/g, " ").trim();

const visible = (el) => {
  const box = el.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && el.checkVisibility({ visibilityProperty: true, opacityProperty: false });
};

// scope is the part of the page that a user can reach: the open modal dialog if there is
// one, or else the whole document.
const scope = () => [...document.querySelectorAll("dialog:modal")].at(-1) ?? document;

// pick finds the candidate with a name. It prefers candidates with exactly this name to
// those whose name only contains it.
const pick = (candidates, names, text) => {
  const wanted = squeeze(text);
  const fits = (test) => candidates.filter((el) => names(el).some((name) => test(squeeze(name))));
  const exact = fits((name) => name === wanted);
  const found = exact.length > 0 ? exact : fits((name) => name.includes(wanted));
  return found.find(visible) ?? found[0];
};

const bySelector = (selector) => {
  try {
    const all = [...document.querySelectorAll(selector)];
    return all.find(visible) ?? all[0];
  } catch {
    return undefined; // the text is a label and not a valid selector
  }
};

const labelText = (label) => {
  const copy = label.cloneNode(true);
  copy.querySelectorAll("input, select, textarea, button, script, style").forEach((el) => el.remove());
  return copy.textContent;
};

const controlNames = (el) => [
  ...[...(el.labels ?? [])].map(labelText),
  ...(el.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean)
    .map((id) => document.getElementById(id)?.textContent),
  el.getAttribute("aria-label"),
].filter(Boolean);

const control = (name) => {
  const controls = "input:not([type=hidden]), select, textarea, [contenteditable=true], [role=textbox], [role=combobox], [role=checkbox], [role=switch]";
  return pick([...scope().querySelectorAll(controls)], controlNames, name) ?? bySelector(name);
};

const clickable = (text) => {
  const roles = ["button", "link", "tab", "menuitem", "menuitemradio", "menuitemcheckbox", "option", "switch", "checkbox", "radio"];
  const kinds = ["a[href]", "button", "summary", "input[type=submit]", "input[type=button]", "input[type=reset]",
    ...roles.map((role) => `[role=${role}]`)].join(", ");
  const names = (el) => [el.getAttribute("aria-label"), el.textContent, el.innerText, el.tagName === "INPUT" ? el.value : "", el.title].filter(Boolean);
  return pick([...scope().querySelectorAll(kinds)].filter(visible), names, text);
};

const disabled = (el) => el.matches(":disabled") || el.getAttribute("aria-disabled") === "true";

// submits says whether sending a form leads to another document.
const submits = (form, button) => {
  const method = button?.getAttribute("formmethod") ?? form.getAttribute("method") ?? "get";
  const target = button?.getAttribute("formtarget") ?? form.target;
  const valid = form.noValidate || button?.formNoValidate || form.matches(":valid");
  return method.toLowerCase() !== "dialog" && valid && ["", "_self"].includes(target);
};

// leaves says whether a click leads to another document, unless a script prevents it.
const leaves = (el) => {
  const link = el.closest("a[href]");
  if (link) {
    const to = new URL(link.href), here = new URL(document.URL);
    const within = link.href.includes("#") && to.origin === here.origin && to.pathname === here.pathname && to.search === here.search;
    return /^https?:$/.test(to.protocol) && !within && !link.hasAttribute("download") && ["", "_self"].includes(link.target);
  }
  const button = el.closest("button, input");
  return Boolean(button?.form) && ["submit", "image"].includes(button.type) && submits(button.form, button);
};

// enterLeaves says whether pressing Enter in the focused element leads to another document.
const enterLeaves = () => {
  objections();
  const el = document.activeElement;
  if (!el || el.tagName !== "INPUT" || !el.form || ["button", "submit", "reset", "image"].includes(el.type)) return leaves(el ?? document.body);
  const button = [...el.form.elements].find((other) => ["submit", "image"].includes(other.type));
  return !button?.disabled && submits(el.form, button);
};

// objections starts to record whether a script prevents the effect of the next click, and
// whether the click hits nothing that reacts to it.
const objections = () => {
  if (!window.bursarTest) {
    window.bursarTest = {};
    for (const kind of ["click", "submit"]) {
      window.addEventListener(kind, (event) => { if (event.defaultPrevented) window.bursarTest.prevented = true; });
    }
    window.addEventListener("click", (event) => {
      window.bursarTest.missed = !event.target.closest("a, button, input, label, select, summary");
    }, { capture: true });
  }
  window.bursarTest.prevented = window.bursarTest.missed = false;
};

// missed says that the click hit nothing, because its target had just moved away.
const missed = () => window.bursarTest?.missed === true;

// prevented says whether a script has prevented the effect of the last click. A script that
// asks for confirmation may also stop the event, so an open dialog counts as well.
const prevented = () => window.bursarTest?.prevented === true || document.querySelector("dialog:modal") !== null;

// target returns where to click an element, or the reason why it cannot be clicked yet.
const target = (el, what) => {
  if (!el) return { missing: `there is no ${what}` };
  if (disabled(el)) return { missing: `${what} is disabled` };
  if (!visible(el)) {
    el = [...(el.labels ?? [])].find(visible) ?? el;
    if (!visible(el)) return { missing: `${what} is not visible` };
  }
  el.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
  const box = [...el.getClientRects()].find((box) => box.width > 0 && box.height > 0) ?? el.getBoundingClientRect();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  const hit = document.elementFromPoint(x, y);
  const reached = hit && (el.contains(hit) || hit.contains(el) && hit.matches("label, a, button") || [...(el.labels ?? [])].some((label) => label.contains(hit)));
  if (!reached) return { missing: `${what} is covered by ${hit ? hit.outerHTML.slice(0, 120) : "nothing that is visible"}` };
  objections();
  return { x, y, leaves: leaves(el) };
};

const targetOf = (selector) => target(bySelector(selector), selector);
const targetOfText = (text) => target(clickable(text), `button or link "${text}"`);

// toggle returns where to click to tick or clear a box, or that nothing has to be done.
const toggle = (name, wanted) => {
  const el = control(name);
  const on = el && (el.checked ?? el.getAttribute("aria-checked") === "true");
  return el && on === wanted ? { done: true } : target(el, `box "${name}"`);
};

const editable = (name) => {
  const el = control(name);
  if (!el) return { missing: `there is no field "${name}"` };
  if (disabled(el) || el.readOnly) return { missing: `field "${name}" cannot be edited` };
  if (!visible(el)) return { missing: `field "${name}" is not visible` };
  return { el };
};

// focusField prepares a field for typing. The value of a field that people do not type
// into, such as a date, is set directly.
const focusField = (name, text) => {
  const { el, missing } = editable(name);
  if (missing) return { missing };
  el.focus();
  if (["date", "time", "datetime-local", "month", "week", "color", "range"].includes(el.type)) {
    el.value = text;
    el.dispatchEvent(new Event("input", { bubbles: true }));
    el.dispatchEvent(new Event("change", { bubbles: true }));
    return { done: true };
  }
  if (el.select) el.select();
  else document.getSelection().selectAllChildren(el);
  return {};
};

const filled = (name, text) => {
  const el = control(name);
  const value = el?.value ?? el?.textContent ?? "";
  const lines = text.replace(/\r\n?/g, "\n");
  const cut = el?.maxLength >= 0 && lines.startsWith(value) && value.length === el.maxLength;
  return value === lines || cut ? {} : { missing: `field "${name}" holds "${value}"` };
};

const choose = (name, text) => {
  const { el, missing } = editable(name);
  if (missing) return { missing };
  if (el.tagName !== "SELECT") return { missing: `"${name}" is a ${el.tagName}, not a select` };
  const option = pick([...el.options], (o) => [o.label, o.text], text);
  if (!option || option.disabled) return { missing: `"${name}" has no option "${text}" but ${[...el.options].map((o) => squeeze(o.text)).join(", ")}` };
  el.focus();
  if (el.multiple) option.selected = true;
  else el.value = option.value, el.selectedIndex = option.index;
  el.dispatchEvent(new Event("input", { bubbles: true }));
  el.dispatchEvent(new Event("change", { bubbles: true }));
  return {};
};

const has = (selector) => document.querySelector(selector) !== null;
const at = (part) => document.URL.includes(part);
const shows = (text) => squeeze(document.body?.innerText).includes(squeeze(text));

const read = (el) => squeeze(el.innerText ?? el.textContent);
const textOf = (selector) => {
  const el = bySelector(selector);
  return el ? { value: read(el) } : { missing: `there is no ${selector}` };
};
const textsOf = (selector) => [...document.querySelectorAll(selector)].map(read);
const valueOf = (name) => {
  const el = control(name);
  return el ? { value: String(el.value ?? el.textContent) } : { missing: `there is no field "${name}"` };
};

// focus returns whether the focused element matches a selector, and its position in the
// document, which tells when the focus has gone through the whole page.
const focus = (selector) => {
  const el = document.activeElement;
  return { meant: el?.matches(selector) === true, place: [...document.querySelectorAll("*")].indexOf(el) };
};

// focusShown says whether the focused element visibly has the focus.
const focusShown = () => {
  const el = document.activeElement;
  if (!el || el === document.body) return false;
  const style = getComputedStyle(el);
  const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && !/, 0\)$|transparent/.test(style.outlineColor);
  return outline || style.boxShadow !== "none";
};

const describe = () => ({ URL: document.URL, Title: document.title, Text: squeeze(document.body?.innerText).slice(0, 600) });
