// What the browser does: send the controls, offer words in the formula, copy code.
(() => {
  const byId = id => document.getElementById(id);
  const formula = byId("formula"), box = byId("choices"), model = byId("model");
  const send = (name, value) => Shiny.setInputValue(name, value, { priority: "event" });
  const act = (name, value = "") => {
    if (name === "full") tell();  // what was typed just before is what is fitted
    send("event", { name, value, at: Date.now() });
  };
  let seed = 1, begun = 0, chosen = -1, timer;

  // The controls are one request.
  const fields = kind => [...document.querySelectorAll(`[data-models]:not([hidden]) [data-${kind}]`)];
  const read = field => {
    if (field.type === "checkbox") return field.checked;
    if (field.dataset.kind === "levels") return field.value.trim() ? field.value.split(",").map(label => label.trim()) : null;
    if (field.value === "") return null;
    return ["count", "number"].includes(field.dataset.kind) ? +field.value : field.value;
  };
  const write = (field, value) => {
    if (field.type === "checkbox") field.checked = value ?? field.defaultChecked;
    else if (field.type === "range" && value > +field.max) field.max = field.value = value;
    else field.value = value ?? field.dataset.default ?? field.defaultValue ?? "";
  };
  const values = () => ({
    formula: formula.value.replace(/\s*\n\s*/g, " "), model: model.value, seed, order: byId("order").value, along: byId("along").value,
    ...Object.fromEntries(["option", "prior", "argument"].map(kind => [kind + "s", Object.fromEntries(fields(kind).map(field => [field.dataset[kind], read(field)]))])),
  });
  const showModel = () => {  // controls that the model has
    for (const control of document.querySelectorAll("[data-models]")) control.hidden = !control.dataset.models.split(" ").includes(model.value);
    for (const range of document.querySelectorAll("[data-models] input[type=range]")) range.parentElement.querySelector("output").textContent = range.value;
  };
  const tell = () => { clearTimeout(timer); Shiny.setInputValue("request", values()); };
  const changed = (pause = 0) => {
    formula.style.height = "auto";
    formula.style.height = formula.scrollHeight + 2 + "px";
    showModel();
    clearTimeout(timer);
    timer = setTimeout(tell, pause);
  };
  const type = text => {  // as if typed, so that Ctrl+Z undoes it
    const before = document.activeElement;
    formula.focus();
    formula.select();
    document.execCommand("insertText", false, text);
    if (formula.value !== text) formula.value = text;
    close();
    if (before !== document.body) before.focus();
  };
  const set = request => {
    model.value = request.model;
    showModel();
    for (const kind of ["option", "prior", "argument"]) for (const field of fields(kind)) write(field, request[kind + "s"][field.dataset[kind]]);
    seed = request.seed;
    byId("order").value = request.order;
    if (formula.value !== request.formula) type(request.formula);
    changed();
  };

  // Words that the formula may go on with.
  const close = () => { box.hidden = true; chosen = -1; formula.removeAttribute("aria-activedescendant"); };
  const offer = message => {
    if (message.text !== formula.value) return;  // it is of an earlier key
    begun = message.begun;
    if (!message.words.length || document.activeElement !== formula) return close();
    box.replaceChildren(...message.words.map((word, i) => Object.assign(
      document.createElement("li"), { id: "choice-" + i, role: "option", textContent: word })));
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = getComputedStyle(formula).font;
    const left = pen.measureText(formula.value.slice(0, formula.selectionStart - begun)).width;
    box.style.left = Math.min(left, Math.max(formula.clientWidth - 200, 0)) + "px";
    box.hidden = false;
    chosen = -1;
  };
  const mark = place => {
    chosen = (place + box.children.length) % box.children.length;
    [...box.children].forEach((item, i) => item.setAttribute("aria-selected", i === chosen));
    formula.setAttribute("aria-activedescendant", "choice-" + chosen);
  };
  const insert = (text, over) => {
    formula.focus();
    formula.setSelectionRange(formula.selectionStart - over, formula.selectionEnd);
    document.execCommand("insertText", false, text);
    close();
    changed();
  };
  formula.addEventListener("input", event => {
    changed(30);
    if (event.inputType !== "insertFromPaste") send("caret", { text: formula.value, at: formula.selectionStart });
  });
  formula.addEventListener("blur", close);
  formula.addEventListener("keydown", event => {
    const open = !box.hidden, key = event.key;
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) act("full");
    else if (open && (key === "ArrowDown" || key === "ArrowUp")) mark(chosen + (key === "ArrowDown" ? 1 : -1));
    else if (open && (key === "Enter" || key === "Tab") && chosen >= 0) insert(box.children[chosen].textContent, begun);
    else if (open && key === "Escape") { close(); event.stopPropagation(); }
    else if (key !== "Enter") return;
    event.preventDefault();
  });
  box.addEventListener("mousedown", event => {
    event.preventDefault();
    if (event.target.role === "option") insert(event.target.textContent, begun);
  });

  // Other controls and buttons.
  for (const field of document.querySelectorAll("#model, #along, #order, [data-models] :is(input, select)")) field.addEventListener("input", () => changed(30));
  byId("shipped").addEventListener("input", event => { if (event.target.value) act("open", event.target.value); });
  byId("save").addEventListener("click", () => act("save", byId("folder").value));
  byId("restore").addEventListener("click", () => act("paste", byId("pasted").value));
  document.addEventListener("keydown", event => { if (event.key === "Escape") act("stop"); });
  document.addEventListener("click", event => {
    const data = event.target.closest("button")?.dataset;
    if (!data) return;
    if (data.event) act(data.event, data.value);
    if (data.insert) insert(data.insert, 0);
    if (data.request) set(JSON.parse(data.request));
    if (data.copy) navigator.clipboard.writeText(byId(data.copy).textContent);
  });
  // The row that is predicted.
  const row = () => send("row_values", {
    values: Object.fromEntries([...document.querySelectorAll("[data-covariate]")].map(field => [field.dataset.covariate, field.value])),
    above: byId("above").value,
  });
  let rowTimer;
  document.addEventListener("input", event => {
    const field = event.target, name = field.dataset.covariate;
    if (name === undefined && field.id !== "above") return;
    for (const other of field.closest(".pair")?.querySelectorAll("input") ?? []) other.value = field.value;
    clearTimeout(rowTimer);
    rowTimer = setTimeout(row, 30);
  });
  document.addEventListener("toggle", event => {
    const pane = event.target.dataset?.pane;
    if (pane) act(event.target.open ? "show" : "hide", pane);
  }, true);

  document.addEventListener("change", event => {  // before the upload begins
    const [file] = event.target.id === "upload" ? event.target.files : [];
    if (!file || file.size <= +event.target.closest("[data-largest]").dataset.largest) return;
    event.stopImmediatePropagation();
    event.target.value = "";
    act("large", file.name);
  }, true);

  const ready = () => {
    let first = true;
    Shiny.addCustomMessageHandler("set", request => {
      if (first && formula.value) return first = false;  // the user was quicker
      first = false;
      byId("along").value = "";
      set(request);
    });
    Shiny.addCustomMessageHandler("words", offer);
    Shiny.addCustomMessageHandler("columns", names => {
      for (const select of document.querySelectorAll("[data-kind=column]"))
        select.replaceChildren(new Option("none", ""), ...names.map(name => new Option(name, name)));
    });
    Shiny.addCustomMessageHandler("along", names => {
      const select = byId("along"), value = select.value;
      const options = ["", ...names].map(name => new Option(name || "automatic", name));
      select.replaceChildren(...options);
      select.value = names.includes(value) ? value : "";
    });
    act("ready", formula.value);
    if (formula.value) changed();  // typed, or restored by the browser, before the server was there
  };
  $(document).one("shiny:sessioninitialized", ready);
  $(document).one("shiny:disconnected", () => { byId("gone").hidden = false; });
})();
