# An independent reader of the payments that Bursar writes: it checks them by Python's own parser and
# decimals, against what ISO 20022 says about the elements, and prints one line for each payment.
import re, sys
from decimal import Decimal
from xml.etree import ElementTree

NS = "{urn:iso:std:iso:20022:tech:xsd:pain.001.001.09}"
ORDER = {  # the children that the schema allows, in its order; * may be there several times
    "Document": "CstmrCdtTrfInitn", "CstmrCdtTrfInitn": "GrpHdr PmtInf*",
    "GrpHdr": "MsgId CreDtTm Authstn* NbOfTxs CtrlSum InitgPty FwdgAgt InitnSrc",
    "PmtInf": "PmtInfId PmtMtd ReqdAdvcTp BtchBookg NbOfTxs CtrlSum PmtTpInf ReqdExctnDt PoolgAdjstmntDt Dbtr DbtrAcct DbtrAgt "
              "DbtrAgtAcct InstrForDbtrAgt UltmtDbtr ChrgBr ChrgsAcct ChrgsAcctAgt CdtTrfTxInf*",
    "PmtTpInf": "InstrPrty SvcLvl* LclInstrm CtgyPurp", "LclInstrm": "Cd Prtry", "ReqdExctnDt": "Dt DtTm",
    "DbtrAcct": "Id Tp Ccy Nm Prxy", "CdtrAcct": "Id Tp Ccy Nm Prxy", "Othr": "Id SchmeNm Issr",
    "FinInstnId": "BICFI ClrSysMmbId LEI Nm PstlAdr Othr", "ClrSysMmbId": "ClrSysId MmbId",
    "CdtTrfTxInf": "PmtId PmtTpInf Amt XchgRateInf ChrgBr ChqInstr UltmtDbtr IntrmyAgt1 CdtrAgt CdtrAgtAcct Cdtr CdtrAcct UltmtCdtr "
                   "InstrForCdtrAgt InstrForDbtrAgt Purp RgltryRptg Tax RltdRmtInf RmtInf SplmtryData",
    "PmtId": "InstrId EndToEndId UETR", "Amt": "InstdAmt EqvtAmt", "RmtInf": "Ustrd* Strd*",
    "InitgPty": "Nm PstlAdr Id CtryOfRes CtctDtls", "Dbtr": "Nm PstlAdr Id CtryOfRes CtctDtls", "Cdtr": "Nm PstlAdr Id CtryOfRes CtctDtls",
    "DbtrAgt": "FinInstnId BrnchId", "CdtrAgt": "FinInstnId BrnchId", "Id": "IBAN Othr",
}
NEEDED = {"GrpHdr": "MsgId CreDtTm NbOfTxs InitgPty", "PmtInf": "PmtInfId PmtMtd ReqdExctnDt Dbtr DbtrAcct DbtrAgt CdtTrfTxInf",
          "CdtTrfTxInf": "PmtId Amt", "PmtId": "EndToEndId", "CdtrAcct": "Id", "DbtrAcct": "Id", "DbtrAgt": "FinInstnId"}
FORM = {
    "MsgId": r".{1,35}", "PmtInfId": r".{1,35}", "InstrId": r".{1,35}", "EndToEndId": r"[A-Za-z0-9]{1,35}", "Prtry": r".{1,35}",
    "MmbId": r".{1,35}", "Nm": r".{1,140}", "Ustrd": r".{1,140}", "NbOfTxs": r"[0-9]{1,15}", "PmtMtd": r"CHK|TRF|TRA",
    "BICFI": r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?", "Ccy": r"[A-Z]{3}", "ChrgBr": r"DEBT|CRED|SHAR|SLEV",
    "Dt": r"\d{4}-\d\d-\d\d", "CreDtTm": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "InstdAmt": r"\d{1,13}\.\d\d", "CtrlSum": r"\d+\.\d\d",
}

def check(e):
    assert e.tag.startswith(NS), e.tag
    name, children = e.tag[len(NS):], [c.tag[len(NS):] for c in e]
    if not children:
        form = r".{1,34}" if name == "Id" else FORM[name]
        assert re.fullmatch(form, e.text or ""), (name, e.text)
        assert re.fullmatch(r"[A-Za-z0-9 /\-?:().,'+]+", e.text), (name, e.text)
        return
    order = [c.rstrip("*") for c in ORDER[name].split()]
    places = [order.index(c) for c in children]
    assert places == sorted(places), (name, children)
    for c in set(children):
        assert children.count(c) == 1 or c + "*" in ORDER[name].split(), (name, c)
    for c in NEEDED.get(name, "").split():
        assert c in children, (name, c)
    for c in e:
        check(c)

root = ElementTree.parse(sys.argv[1]).getroot()
check(root)
at = {"p": NS[1:-1]}
transfers = root.findall(".//p:CdtTrfTxInf", at)
total = sum(Decimal(t.find("p:Amt/p:InstdAmt", at).text) for t in transfers)
for head in ("GrpHdr", "PmtInf"):
    assert int(root.find(".//p:%s/p:NbOfTxs" % head, at).text) == len(transfers)
    assert Decimal(root.find(".//p:%s/p:CtrlSum" % head, at).text) == total
for t in transfers:
    amount = t.find("p:Amt/p:InstdAmt", at)
    agent = t.find("p:CdtrAgt/p:FinInstnId", at)
    print(t.find("p:PmtId/p:EndToEndId", at).text, amount.get("Ccy"), amount.text, "".join(agent.itertext()).strip(),
          t.find("p:CdtrAcct/p:Id/p:Othr/p:Id", at).text, t.find("p:Cdtr/p:Nm", at).text, sep="|")
